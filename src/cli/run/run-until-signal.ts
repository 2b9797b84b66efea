import { InvalidArgumentError } from 'commander';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Cli } from '../cli.ts';

/** Shorter than the minute after which service managers kill a process. */
const PATIENCE_MS = 40_000;

/** Waits for the first Ctrl-C or termination signal. A second one, or a shutdown that hangs, ends the process immediately. */
export function untilStopped(cli: Cli): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false;
    cli.onStop((signal) => {
      if (signal === undefined) return;
      if (stopping) return cli.exitNow(exitCodeOf('USER_ABORT'));
      stopping = true;
      void cli.note('shutting down cleanly; Ctrl-C again exits immediately');
      setTimeout(() => cli.exitNow(exitCodeOf('INFRASTRUCTURE')), PATIENCE_MS).unref();
      resolve();
    });
  });
}

/**
 * Runs `work`. The first Ctrl-C or termination signal aborts it, instead of ending the process; a second one ends the
 * process immediately, except SIGHUP: a terminal that is closed sends it more than once.
 */
export async function stoppable<T>(
  cli: Pick<Cli, 'onStop' | 'exitNow'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const off = cli.onStop((signal) => {
    if (stop.signal.aborted && signal !== 'SIGHUP') cli.exitNow(exitCodeOf('USER_ABORT'));
    stop.abort();
  });
  try {
    return await work(stop.signal);
  } finally {
    off();
  }
}

/** Parses a whole number from 1 to 999. Throws the message that commander shows. */
export function parseCount(text: string): number {
  return countFrom(1, text);
}

/** The same from 0. */
export function parseCountOrNone(text: string): number {
  return countFrom(0, text);
}

function countFrom(least: number, text: string): number {
  if (/^(?:0|[1-9][0-9]{0,2})$/.test(text) && Number(text) >= least) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from ${least} to 999.`);
}

/** The user's answer at the terminal, in lower case; undefined on Ctrl-C or end of input. */
export async function askPerson(question: string, cli: Cli): Promise<string | undefined> {
  const answer = await stoppable(cli, async (signal) => cli.ask?.(question, signal)).catch(() => undefined);
  return answer?.trim().toLowerCase();
}
