import type { JournalEvent } from '../core/journal/events.ts';
import { applyEvent } from '../core/journal/fold-run.ts';
import type { RunState } from '../core/run/state.ts';
import { cleanLines } from '../core/transcript/excerpt.ts';
import type { Paint, TranscriptLine } from '../core/transcript/transcript-line.ts';
import { describeEvent } from '../core/transcript/transcript.ts';
import { wrapIndented } from '../lib/string-width.ts';
import { followAttempts, type RunningCommand } from './attempts.ts';
import { openCanvas, type Screen } from './canvas.ts';
import { LOW_HEIGHT, renderView, type LastOutput } from './view.ts';

const FRAME_MS = 100;
const OUTPUT_MS = 1000;
const KEPT_LINES = 20;

export interface ProgressDisplay {
  show(event: JournalEvent): void;
  /** Shows a line in the frame, which stays on the terminal afterwards. */
  say: (line: string) => void;
  /** Leaves the last frame on the terminal. Safe to call twice. */
  close(): void;
}

export interface ProgressOptions {
  screen: Screen;
  paint: Paint;
  /** Absolute path of the run directory. */
  dir: string;
  report?: boolean;
  /** Describes the keys, for the last line of the frame. */
  keys?: string;
  /** Lines that the terminal already shows; the frame repeats them until a newer line replaces them. */
  notes?: readonly string[];
  /** Reads the end of a log, by its path below artifacts/. */
  readEnd?: (path: string) => Promise<Buffer>;
}

/** Draws a run's progress on a terminal, at most ten frames a second, in place. */
export function openProgress(options: ProgressOptions): ProgressDisplay {
  const { paint, dir, report = true, keys = 'Ctrl-C stops it', notes = [], readEnd } = options;
  const attempts = followAttempts();
  const canvas = openCanvas(options, () => {
    clearInterval(timer);
    clearInterval(reading);
    return [...said.flatMap((text) => wrapped(text, canvas.size().width)), ...frame({ notes: [] })];
  });
  let state: RunState | undefined;
  let recent: TranscriptLine[] = [];
  let output: LastOutput[] = [];
  const said: string[] = [];
  const timer = setInterval(() => {
    if (state !== undefined) canvas.draw(frame({ notes: notesNow(), keys }));
  }, FRAME_MS);
  const reading = readEnd === undefined ? undefined : setInterval(() => void readOutput(readEnd), OUTPUT_MS);

  function frame(shown: { notes: readonly string[]; keys?: string }): string[] {
    if (state === undefined) return [];
    const now = new Date().toISOString();
    const failed = attempts.failed();
    return renderView({ state, recent, failed, output, now, ...canvas.size(), paint, dir, report, ...shown });
  }

  /** Warnings from before the run do not take the place of its stories. */
  function notesNow(): readonly string[] {
    if (said.length > 0) return said;
    return canvas.size().height < LOW_HEIGHT ? [] : notes;
  }

  let busy = false;
  async function readOutput(read: (path: string) => Promise<Buffer>): Promise<void> {
    if (busy) return;
    busy = true;
    const lines = await Promise.all(attempts.running().map((command) => lastLine(command, state, read)));
    output = lines.filter((line) => line !== undefined);
    busy = false;
  }

  return {
    show(event) {
      state = applyEvent(state, event);
      attempts.see(event);
      const running = attempts.running();
      output = output.filter(({ log }) => running.some((command) => command.log === log));
      const lines = describeEvent(event).filter((line) => line.story !== '');
      if (event.type === 'story.started') recent = recent.filter(({ story }) => story !== lines[0]?.story);
      recent = [...recent, ...lines].slice(-KEPT_LINES);
    },
    say: (text) => void said.push(text),
    close: () => canvas.close(),
  };
}

/** The last line of a command's output so far; undefined without a log. */
async function lastLine(
  { story, attempt, kind, log }: RunningCommand,
  state: RunState | undefined,
  read: (path: string) => Promise<Buffer>,
): Promise<LastOutput | undefined> {
  const key = state?.stories.find(({ id }) => id === story)?.key;
  const end = await read(`${key}/${attempt}/${log}`).catch(() => undefined);
  if (end === undefined) return undefined;
  return { story, log, label: kind, text: cleanLines(end.toString('utf8')).at(-1) ?? 'no output yet' };
}

function wrapped(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapIndented(line, width));
}

export interface Page {
  draw(lines: readonly string[]): void;
  /** Keeps the last drawn page on the terminal. */
  close(): void;
}

/** Draws pages in place, each over the previous one, cut to the size of the terminal. */
export function openPage({ screen, paint }: { screen: Screen; paint: Paint }): Page {
  let shown: readonly string[] = [];
  const canvas = openCanvas({ screen, paint }, () => shown);
  const redraw = () => {
    const { height } = canvas.size();
    const lines =
      shown.length > height ? [...shown.slice(0, height - 1), `… ${shown.length - height + 1} more lines`] : shown;
    canvas.draw(lines);
  };
  screen.on('resize', redraw);
  return {
    draw(lines) {
      shown = lines;
      redraw();
    },
    close() {
      screen.off('resize', redraw);
      canvas.close();
    },
  };
}
