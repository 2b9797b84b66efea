import { formatDuration, msBetween } from '../../core/text/format-elapsed.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { describe } from '../../core/transcript/transcript.ts';
import { layOut, type TranscriptLine } from '../../core/transcript/transcript-line.ts';
import type { Extent } from '../../core/transcript-text.ts';
import { widthOf } from '../../lib/width.ts';
import { wrapToWidth } from '../../lib/wrap.ts';
import type { Cli } from '../cli.ts';

type Printer = Pick<Cli, 'terminal' | 'screen' | 'paint' | 'print'>;

export interface TranscriptOptions {
  /** The run whose events they are: lines then name the commands that print whole logs. */
  runId?: string;
  /** The time of day, in UTC, instead of the elapsed time. */
  timestamps?: boolean;
  extent?: Extent;
  /** Columns that something in front of the lines takes. */
  indent?: number;
}

/** A printer of events as transcript lines on stdout; elapsed time counts from the first event that it is given. */
export function transcriptPrinter(
  cli: Printer,
  options: TranscriptOptions = {},
): (event: JournalEvent, shown?: boolean) => Promise<void> {
  const toLines = transcriptLines(cli, options);
  return async (event, shown = true) => {
    const lines = toLines(event);
    if (shown) await cli.print(...lines);
  };
}

/** The same as lines, which are not printed yet. */
export function transcriptLines(
  cli: Omit<Printer, 'print'>,
  { runId, timestamps = false, extent, indent = 0 }: TranscriptOptions,
): (event: JournalEvent) => string[] {
  let startedAt: string | undefined;
  const how = { ...(runId !== undefined && { runId }), ...(extent !== undefined && { extent }) };
  return (event) => {
    startedAt ??= event.at;
    const when = timestamps ? `${event.at.slice(0, 19)}Z` : formatDuration(msBetween(startedAt, event.at));
    const width = cli.terminal.shown && cli.screen.columns !== undefined ? cli.screen.columns - indent : undefined;
    const lines = describe(event, how).flatMap((line) => (width === undefined ? [line] : wrap(line, when, width)));
    return lines.map((line) => layOut(line, when, cli.paint));
  };
}

const LEAST_TEXT_WIDTH = 30;

/** On a terminal a long text goes on below its own beginning; on a very narrow one the terminal may break it. */
function wrap(line: TranscriptLine, when: string, width: number): TranscriptLine[] {
  const room = width - widthOf(layOut({ ...line, text: '.' }, when)) + 1;
  if (room < LEAST_TEXT_WIDTH) return [line];
  const [first = '', ...rest] = wrapToWidth(line.text, room);
  return [{ ...line, text: first }, ...rest.map((text) => ({ ...line, label: '', text }))];
}
