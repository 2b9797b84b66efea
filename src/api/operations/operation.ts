import type * as zod from 'zod';
import type { Access } from '../../core/access/access.ts';
import type { OperationContext } from './operation-context.ts';

/** Schemas are functions of zod, so that commands that only read do not load it. */
export type Zod = typeof zod;

/** Builds a schema. */
export type Schema<T = unknown> = (z: Zod) => zod.ZodType<T>;

/**
 * One thing that users can do with halo. The routes of the HTTP API, its client, the OpenAPI document and docs/api.md
 * are derived from it.
 */
export interface Operation<Input, Result> {
  /** Unique; the operation id of the OpenAPI document. */
  name: string;
  method: 'GET' | 'POST';
  /** `{name}` is a key of the input; `{name*}` may contain slashes. */
  path: string;
  /** What the role of a user must include. The token of the server includes everything. */
  access: Access;
  /** It concerns all repositories, so that users with a list of repositories may not run it. */
  everywhere?: true;
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
  /** Runs it in this process. `signal` interrupts long operations. */
  run(this: void, context: OperationContext, input: Input, signal?: AbortSignal): Promise<Result>;
}

/** The input of an operation. */
export type InputOf<O> = O extends Operation<infer Input, unknown> ? Input : never;

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
