import type { Command } from 'commander';
import type { Operations } from '../../api/operations.ts';
import type { SubmitOptions, Submitted } from '../../api/operations/schemas.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import type { Cli } from '../cli.ts';

/** Where stories come from, other than from a PRD. */
export interface StorySource {
  /** Adds the options of `run`, `submit` and `prd validate` that choose it. */
  addOptions(this: void, command: Command): void;
  /**
   * Undefined unless `flags` choose it. `others`: what it cannot be combined with, by the name that users know; undefined if
   * it is not given. Throws USAGE.
   */
  choose(this: void, flags: object, others: Record<string, unknown>): ChosenSource | undefined;
}

export interface ChosenSource {
  submit(this: void, operations: Operations, options: SubmitOptions & { repo: string }): Promise<{ runs: Submitted[] }>;
  /** What a submit from the folder of `cli` would work on, as a PRD, and notes. Throws what a submit throws. */
  read(this: void, cli: Cli): Promise<{ prd: PrdFile; notes: string[] }>;
}
