import { HaloError, toHaloError } from '../core/failure/errors.ts';
import type { Tool, ToolOperations } from './tool.ts';
import { toToolError, toToolResult, type Mask, type ToolResult } from './tool-result.ts';

/** Calls at the same time, over all clients of a user: each may wait for most of a minute. */
const MAX_CALLS = 32;

/** The running calls that count together. */
export interface RunningCalls {
  running: number;
}

export interface ToolRunnerOptions {
  operations: ToolOperations;
  mask?: Mask;
  /** By default those of this runner. */
  calls?: RunningCalls;
}

/** Calls tools, and turns what they return or throw into results. */
export class ToolRunner {
  readonly #operations: ToolOperations;
  readonly #mask: Mask;
  readonly #calls: RunningCalls;

  constructor({ operations, mask = (text) => text, calls = { running: 0 } }: ToolRunnerOptions) {
    this.#operations = operations;
    this.#mask = mask;
    this.#calls = calls;
  }

  /** The same for the operations of another user, whose calls are counted in `calls`. */
  actingFor(operations: ToolOperations, calls: RunningCalls): ToolRunner {
    return new ToolRunner({ operations, mask: this.#mask, calls });
  }

  /** Never throws. `input` is what the input schema of the tool returned. */
  async call(tool: Tool, input: unknown, signal: AbortSignal): Promise<ToolResult> {
    this.#calls.running += 1;
    try {
      if (this.#calls.running > MAX_CALLS) throw tooManyCalls();
      const result = await tool.run(this.#operations, input as never, signal);
      // The schema drops what it does not name.
      return toToolResult(tool.output.parse(result), this.#mask);
    } catch (error) {
      return toToolError(toHaloError(error), this.#mask);
    } finally {
      this.#calls.running -= 1;
    }
  }
}

function tooManyCalls(): HaloError {
  return new HaloError('USAGE', `More than ${MAX_CALLS} tool calls of this user are running.`, {
    hint: 'Wait for the results of earlier calls, and call again.',
  });
}
