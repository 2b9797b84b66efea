import { msBetween } from '../core/duration.ts';
import type { JournalEvent } from '../core/events.ts';
import { describe, layOut } from '../core/transcript.ts';
import type { Cli } from './cli.ts';

/** A printer of events as transcript lines on stdout; elapsed time counts from the first event that it is given. */
export function transcriptPrinter(cli: Cli): (event: JournalEvent, shown?: boolean) => Promise<void> {
  let startedAt: string | undefined;
  return async (event, shown = true) => {
    startedAt ??= event.at;
    if (!shown) return;
    const elapsed = msBetween(startedAt, event.at);
    await cli.print(...describe(event).map((line) => layOut(line, elapsed, cli.paint)));
  };
}
