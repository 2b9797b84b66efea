import type { RunningCommand } from '../core/journal/attempts.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import { applyEvent } from '../core/journal/fold-run.ts';
import type { RunState } from '../core/run/state.ts';
import { cleanLines } from '../core/transcript/excerpt.ts';
import type { Paint, TranscriptLine } from '../core/transcript/transcript-line.ts';
import { describeEvent } from '../core/transcript/transcript.ts';
import { wrapIndented } from '../lib/string-width.ts';
import { AttemptTracker } from './attempts.ts';
import { Canvas, type Screen } from './canvas.ts';
import { LOW_HEIGHT, renderView, type LastOutput } from './view.ts';

const FRAME_MS = 100;
const OUTPUT_MS = 1000;
const KEPT_LINES = 20;

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
export class ProgressDisplay {
  readonly #options: ProgressOptions;
  readonly #attempts = new AttemptTracker();
  readonly #canvas: Canvas;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #said: string[] = [];
  #state: RunState | undefined;
  #recent: TranscriptLine[] = [];
  #output: LastOutput[] = [];
  #reading = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#canvas = new Canvas(options, () => this.#lastFrame());
    const { readEnd } = options;
    this.#timers.push(setInterval(() => this.#draw(), FRAME_MS));
    if (readEnd !== undefined) this.#timers.push(setInterval(() => void this.#readOutput(readEnd), OUTPUT_MS));
  }

  show(event: JournalEvent): void {
    this.#state = applyEvent(this.#state, event);
    this.#attempts.see(event);
    const running = this.#attempts.running;
    this.#output = this.#output.filter(({ log }) => running.some((command) => command.log === log));
    const lines = describeEvent(event).filter((line) => line.story !== '');
    if (event.type === 'story.started') this.#recent = this.#recent.filter(({ story }) => story !== lines[0]?.story);
    this.#recent = [...this.#recent, ...lines].slice(-KEPT_LINES);
  }

  /** Shows a line in the frame, which stays on the terminal afterwards. */
  say = (line: string): void => void this.#said.push(line);

  /** Leaves the last frame on the terminal. Safe to call twice. */
  close(): void {
    this.#canvas.close();
  }

  #draw(): void {
    const { keys = 'Ctrl-C stops it' } = this.#options;
    if (this.#state !== undefined) this.#canvas.draw(this.#frame({ notes: this.#notes(), keys }));
  }

  #lastFrame(): string[] {
    this.#timers.forEach(clearInterval);
    const { width } = this.#canvas.size();
    return [...this.#said.flatMap((text) => wrapped(text, width)), ...this.#frame({ notes: [] })];
  }

  #frame(shown: { notes: readonly string[]; keys?: string }): string[] {
    const state = this.#state;
    if (state === undefined) return [];
    const { paint, dir, report = true } = this.#options;
    const now = new Date().toISOString();
    const failed = this.#attempts.failed;
    const [recent, output] = [this.#recent, this.#output];
    return renderView({ state, recent, failed, output, now, ...this.#canvas.size(), paint, dir, report, ...shown });
  }

  /** Warnings from before the run do not take the place of its stories. */
  #notes(): readonly string[] {
    if (this.#said.length > 0) return this.#said;
    return this.#canvas.size().height < LOW_HEIGHT ? [] : (this.#options.notes ?? []);
  }

  async #readOutput(read: (path: string) => Promise<Buffer>): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const running = this.#attempts.running;
    const lines = await Promise.all(running.map((command) => lastLine(command, this.#state, read)));
    this.#output = lines.filter((line) => line !== undefined);
    this.#reading = false;
  }
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

/** Draws pages in place, each over the previous one, cut to the size of the terminal. */
export class Page {
  readonly #screen: Screen;
  readonly #canvas: Canvas;
  #shown: readonly string[] = [];

  constructor({ screen, paint }: { screen: Screen; paint: Paint }) {
    this.#screen = screen;
    this.#canvas = new Canvas({ screen, paint }, () => this.#shown);
    screen.on('resize', this.#redraw);
  }

  draw(lines: readonly string[]): void {
    this.#shown = lines;
    this.#redraw();
  }

  /** Keeps the last drawn page on the terminal. */
  close(): void {
    this.#screen.off('resize', this.#redraw);
    this.#canvas.close();
  }

  readonly #redraw = (): void => {
    const { height } = this.#canvas.size();
    const shown = this.#shown;
    const cut = [...shown.slice(0, height - 1), `… ${shown.length - height + 1} more lines`];
    this.#canvas.draw(shown.length > height ? cut : shown);
  };
}
