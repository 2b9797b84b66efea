import type { PrdFile } from '../../core/prd/prd.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import type { Cli } from '../cli.ts';

/** The request for a run. */
interface RequestedRun {
  repo: string;
  /** Absolute. */
  prdPath: string;
  prd: PrdFile | undefined;
  profile: string | undefined;
  set: string[];
}

/**
 * Stores a refused run as a run directory, and prints its path as the last line of stdout. Does nothing for wrong usage
 * and for runs of a server. Never throws, because the caller must report the refusal itself.
 */
export async function reportRefusedRun(thrown: unknown, asked: RequestedRun, cli: Cli, json: boolean): Promise<void> {
  const error = toHaloError(thrown);
  if (error.stopReason === undefined) return;
  try {
    if ((await cli.services.readHost()).apiUrl !== undefined) return;
    const dir = await cli.services.recordRefusedRun({ ...asked, error });
    await (json || cli.terminal.drawable ? cli.note(`run directory: ${dir}`) : cli.print(dir));
  } catch (cause) {
    await cli.note(`the run directory of the refused run could not be written: ${toHaloError(cause).message}`);
  }
}
