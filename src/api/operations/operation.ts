import type * as zod from 'zod';
import type { Access, User } from '../../core/access/access.ts';
import type { BreakerStore } from '../../store/breaker-files.ts';
import type { UserTurns } from '../access/user-turns.ts';
import type { LimitedRuns } from '../runs/limited-runs.ts';
import type { RunTable } from '../runs/run-followers.ts';
import type { SubmitContext } from '../submit/submit-context.ts';

/** Schemas are functions of zod, so that commands that only read do not load it. */
export type Zod = typeof zod;

/** Builds a schema. */
export type Schema<T = unknown> = (z: Zod) => zod.ZodType<T>;

/**
 * One thing that users can do with halo. The routes of the HTTP API, its client, the OpenAPI document and docs/api.md
 * are derived from it.
 */
export interface Operation<Input, Result> {
  /** Its key in the table, and the operation id of the OpenAPI document. */
  name: string;
  method: 'GET' | 'POST';
  /** `{name}` is a key of the input; `{name*}` may contain slashes. */
  path: string;
  /** What the role of a user must include. The token of the server includes everything. */
  access: Access;
  /** It concerns all repositories, so that users with a list of repositories may not run it. */
  everywhere?: true;
  /** It creates runs, whose user may be named in the input. */
  submits?: true;
  /** It asks git about repositories: it ends when its client leaves, and few of one user run at the same time. */
  inspects?: true;
  /** It accepts, discards or lands work: the MCP server offers it only if `[mcp] decide` is set. */
  decides?: true;
  /** Its work ends when the client of the request is gone. */
  endsWithRequest?: true;
  /** One sentence for the reference. */
  summary: string;
  /** The part of the input that is not in the path: the query of GET, the JSON body of POST. Undefined: nothing else. */
  input?: Schema;
  /** An example of that part. */
  example?: Record<string, unknown>;
  output: Output;
  /** Agents can call it over MCP as it is. */
  tool?: OperationTool;
  /** Runs it in this process. `signal` interrupts long operations. */
  run(this: void, context: OperationContext, input: Input, signal?: AbortSignal): Promise<Result>;
}

/** Keys of the input that are in the path. */
type PathInput<Path extends string> = Path extends `${string}{${infer Key}}${infer Rest}`
  ? Record<Key extends `${infer Name}*` ? Name : Key, string> & PathInput<Rest>
  : unknown;

/** A table of operations before they have their names. */
export type Unnamed<O = AnyOperation> = Omit<O, 'name'>;

/**
 * Infers the types of an operation: the input from the path and the schema, the result from `run`. In this process, `run`
 * may take more than a request may contain.
 */
export function operation<
  const Path extends string,
  Result,
  Fields extends zod.ZodType = zod.ZodType<object>,
  Input extends PathInput<Path> & zod.output<Fields> = PathInput<Path> & zod.output<Fields>,
>(
  described: Omit<Operation<Input, Result>, 'name' | 'path' | 'input'> & { path: Path; input?: (z: Zod) => Fields },
): Unnamed<Operation<Input, Result>> {
  return described;
}

/** What a schema returns for what it accepts. */
export type Shape<S extends (z: Zod) => zod.ZodType> = zod.output<ReturnType<S>>;

/** The same for fields of an object. */
export type Fields<S extends (z: Zod) => zod.ZodRawShape> = zod.output<zod.ZodObject<ReturnType<S>>>;

/** How agents call an operation. Its name is that of the operation, e.g. `halo_list_runs`, unless there is another one. */
export interface OperationTool {
  name?: string;
  /** For people. */
  title: string;
  /** For the agent, after the summary: when to call it. */
  when?: string;
  /** For the agent, instead of the summary. */
  description?: string;
  /** A second call with the same arguments changes nothing more. */
  idempotent?: true;
  /** What of the input agents may set, in addition to what is in the path; absent: all. */
  input?: Schema;
}

/** An operation with any input and result. */
export type AnyOperation = Operation<never, unknown>;

export type Output =
  /** `secret`: it contains a secret for the caller, which is not masked. */
  | { kind: 'json'; schema: Schema; created?: true; secret?: true }
  /** One JSON object per line. `resume` returns the input with which a broken stream continues after a frame. */
  | { kind: 'stream'; schema: Schema; resume?: (frame: never) => Record<string, unknown> }
  | { kind: 'bytes'; mediaType: string };

/** Runs an operation: in this process, or on a server. */
export type CallOperation = <Input, Result>(
  operation: Operation<Input, Result>,
  input: Input,
  signal?: AbortSignal,
) => Promise<Result>;

/** The keys of the input that are in the path. */
export function pathKeys({ path }: Pick<AnyOperation, 'path'>): string[] {
  return [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, key = '']) => key);
}

/** Everything that operations need, in addition to their input. */
export interface OperationContext extends SubmitContext {
  breakers: BreakerStore;
  limitedRuns: LimitedRuns;
  /** Of all runs, for any caller. */
  runTable: RunTable;
  /** The user who runs the operation, as journals name users. */
  by: string;
  /** The user of the server who sent the request; absent: its owner, who may do everything. */
  caller?: User | undefined;
  /** An agent sent it over MCP, without `[mcp] decide`: it may not cause what only deciding tools do. */
  undecided?: true;
  /** Whether the request came over the network, so that the restrictions of such requests apply. */
  remote: boolean;
  /** Assigns a run to the worker of this process, if it has one and no other worker is running. */
  claim: (runId: string) => Promise<{ owner?: string }>;
  /** Reading PRDs of requests, in the thread of the server. */
  prdTurns: UserTurns;
  /** Replays of requests, which run containers on the machine of the server. */
  replayTurns: UserTurns;
  /** Teaches the masker the secrets that the configuration of a run names. */
  learnSecrets: (config: unknown) => Promise<void>;
  /** The OpenAPI document of all operations. */
  describe: () => Promise<Record<string, unknown>>;
}
