import { msBetween } from '../core/duration.ts';
import type { JournalEvent } from '../core/events.ts';
import { describe } from '../core/transcript.ts';
import { layOut, type TranscriptLine } from '../core/transcript-line.ts';
import { widthOf } from '../lib/width.ts';
import { wrapToWidth } from '../lib/wrap.ts';
import type { Cli } from './cli.ts';

type Printer = Pick<Cli, 'terminal' | 'screen' | 'paint' | 'print'>;

/** A printer of events as transcript lines on stdout; elapsed time counts from the first event that it is given. */
export function transcriptPrinter(cli: Printer): (event: JournalEvent, shown?: boolean) => Promise<void> {
  let startedAt: string | undefined;
  return async (event, shown = true) => {
    startedAt ??= event.at;
    if (!shown) return;
    const elapsed = msBetween(startedAt, event.at);
    const width = cli.terminal.shown ? cli.screen.columns : undefined;
    const lines = describe(event).flatMap((line) => (width === undefined ? [line] : wrap(line, width)));
    await cli.print(...lines.map((line) => layOut(line, elapsed, cli.paint)));
  };
}

const LEAST_TEXT_WIDTH = 30;

/** On a terminal a long text goes on below its own beginning; on a very narrow one the terminal may break it. */
function wrap(line: TranscriptLine, width: number): TranscriptLine[] {
  const room = width - widthOf(layOut({ ...line, text: '.' }, 0)) + 1;
  if (room < LEAST_TEXT_WIDTH) return [line];
  const [first = '', ...rest] = wrapToWidth(line.text, room);
  return [{ ...line, text: first }, ...rest.map((text) => ({ ...line, label: '', text }))];
}
