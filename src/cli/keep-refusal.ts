import type { PrdBytes } from '../api/operations.ts';
import { toHaloError } from '../core/failure/errors.ts';
import type { Cli } from './cli.ts';

/** What a run was asked for with. */
export interface Asked {
  repo: string;
  /** Absolute. */
  prdPath: string;
  prd: PrdBytes | undefined;
  profile: string | undefined;
  set: string[];
}

/**
 * Keeps what a run was refused with as a run directory, and names it as results are named: on the last line of stdout.
 * Wrong usage leaves none, nor does a run of a server. Never throws: the refusal itself is what counts.
 */
export async function keepRefusal(thrown: unknown, asked: Asked, cli: Cli, json: boolean): Promise<void> {
  const error = toHaloError(thrown);
  if (error.stopReason === undefined) return;
  try {
    if ((await cli.services.readHost()).apiUrl !== undefined) return;
    const dir = await cli.services.keepRefusal({ ...asked, error });
    await (json || cli.terminal.drawable ? cli.note(`run directory: ${dir}`) : cli.print(dir));
  } catch (cause) {
    await cli.note(`the run directory of this refusal could not be written: ${toHaloError(cause).message}`);
  }
}
