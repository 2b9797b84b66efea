import type { Cli } from '../cli.ts';
import { wrapIndented, stringWidth } from '../../lib/string-width.ts';
import type { Extent } from '../../core/transcript/excerpt.ts';
import { layOutLine, storyColumnWidth, type TranscriptLine } from '../../core/transcript/transcript-line.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';
import { AttemptReader, totalUsage } from '../../core/journal/attempts.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { defined } from '../../lib/guards.ts';

type Printer = Pick<Cli, 'terminal' | 'screen' | 'paint' | 'print'>;

interface TranscriptOptions {
  /** The run of the events: lines then name the commands that print complete logs. */
  runId?: string;
  /** The time of day, in UTC, instead of the elapsed time. */
  timestamps?: boolean;
  extent?: Extent;
  /** One line for each event, with what the attempt has used so far. */
  live?: boolean;
  /** Columns that a prefix of the lines takes. */
  indent?: number;
}

/** Creates a printer of events as transcript lines on stdout; elapsed time counts from its first event. */
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

/** Returns the lines instead of printing them. */
export function transcriptLines(
  cli: Omit<Printer, 'print'>,
  { runId, timestamps = false, extent, live = false, indent = 0 }: TranscriptOptions,
): (event: JournalEvent) => string[] {
  let startedAt: string | undefined;
  let storyWidth: number | undefined;
  const attempts = live ? new AttemptReader() : undefined;
  return (event) => {
    const used = attempts && { used: totalUsage(attempts.read(event)?.usage ?? []) };
    const how = defined({ runId, extent, live: used });
    startedAt ??= event.at;
    if (event.type === 'run.created') storyWidth = storyColumnWidth(event.prd.stories.map(({ id }) => id));
    const when = timestamps ? `${event.at.slice(0, 19)}Z` : formatElapsed(msBetween(startedAt, event.at));
    const width = cli.terminal.shown && cli.screen.columns !== undefined ? cli.screen.columns - indent : undefined;
    const lines = describeEvent(event, how).flatMap((line) =>
      width === undefined ? [line] : wrap(line, when, { width, storyWidth }),
    );
    return lines.map((line) => layOutLine(line, when, cli.paint, storyWidth));
  };
}

const MIN_TEXT_WIDTH = 30;

/** On a terminal, a long text is wrapped and indented, unless the terminal is too narrow. */
function wrap(
  line: TranscriptLine,
  when: string,
  { width, storyWidth }: { width: number; storyWidth: number | undefined },
): TranscriptLine[] {
  const room = width - stringWidth(layOutLine({ ...line, text: '.' }, when, undefined, storyWidth)) + 1;
  if (room < MIN_TEXT_WIDTH) return [line];
  const [first = '', ...rest] = wrapIndented(line.text, room);
  return [{ ...line, text: first }, ...rest.map((text) => ({ ...line, label: '', text }))];
}
