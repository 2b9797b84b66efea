import * as z from 'zod';
import type { AnyOperation, Operation } from '../api/operations/operation.ts';
import type { Operations } from '../api/operations.ts';

/** What tools may do: the operations, as a user who may set less than the person who runs halo. */
export type ToolOperations = Omit<Operations, 'close'>;

/** A tool of the MCP server: one or two operations in the form that an agent needs. */
export interface Tool {
  /** Unique, e.g. `halo_status`. */
  name: string;
  /** For people. */
  title: string;
  /** For the agent: what it does, and when to call it. */
  description: string;
  /** The operations that it calls. Its annotations, and whether it needs `[mcp] decide`, follow from them. */
  uses: readonly AnyOperation[];
  /** A second call with the same arguments changes nothing more. */
  idempotent?: true;
  input: z.ZodObject;
  output: z.ZodObject;
  run(this: void, operations: ToolOperations, input: never, signal: AbortSignal): Promise<object>;
}

/** Checks the types of a tool. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'output' | 'run'> & {
    input: I;
    output: O;
    run(this: void, operations: ToolOperations, input: z.output<I>, signal: AbortSignal): Promise<z.input<O>>;
  },
): Tool {
  return tool;
}

/** A field of the input of an operation: tools have the fields of their operations, with the same names and rules. */
export function fieldOf<Input, K extends keyof Input & string>(
  operation: Operation<Input, never> | Operation<Input, unknown>,
  key: K,
): z.ZodType<Input[K], Input[K]> {
  const schema = operation.input?.(z);
  const field = schema instanceof z.ZodObject ? (schema.shape[key] as z.ZodType | undefined) : undefined;
  if (field === undefined) throw new Error(`${operation.name} has no input ${key}`);
  return field as z.ZodType<Input[K], Input[K]>;
}

/** The result of an operation whose output is a JSON object. */
export function outputOf({ name, output }: AnyOperation): z.ZodObject {
  const schema = output.kind === 'json' ? output.schema(z) : undefined;
  if (schema instanceof z.ZodObject) return z.object(schema.shape);
  throw new Error(`${name} returns no JSON object`);
}

/** The key in the paths of operations. */
export const RUN_REFERENCE = z.string().min(1).max(100).describe('The id of a run, or a unique part of it.');

/** Whether a tool changes nothing. */
export function isReadOnly({ uses }: Pick<Tool, 'uses'>): boolean {
  return uses.every(({ access }) => access === 'read');
}

/** Whether a tool accepts, discards or lands work. */
export function isDeciding({ uses }: Pick<Tool, 'uses'>): boolean {
  return uses.some(({ decides }) => decides === true);
}
