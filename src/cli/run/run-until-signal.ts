import { InvalidArgumentError } from 'commander';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Cli } from '../cli.ts';

/** A service manager kills after a minute: better an end of one's own. */
const PATIENCE_MS = 40_000;

/**
 * Waits for the first Ctrl-C or termination signal; the next one ends the process at once. So does time, when what is
 * to stop hangs.
 */
export function untilStopped(cli: Cli): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false;
    cli.onStop(() => {
      if (stopping) return cli.exitNow(exitCodeOf('USER_ABORT'));
      stopping = true;
      void cli.note('stopping in good order; Ctrl-C again exits at once');
      setTimeout(() => cli.exitNow(exitCodeOf('INFRASTRUCTURE')), PATIENCE_MS).unref();
      resolve();
    });
  });
}

/** Does work that the first Ctrl-C or termination signal aborts, instead of ending the process. */
export async function stoppable<T>(cli: Pick<Cli, 'onStop'>, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const off = cli.onStop(() => stop.abort());
  try {
    return await work(stop.signal);
  } finally {
    off();
  }
}

/** A whole number from 1 on, for an option. Throws the message that commander shows. */
export function parseCount(text: string): number {
  if (/^[1-9][0-9]{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}
