import { createLogUpdate } from 'log-update';
import type { JournalEvent } from '../core/journal/events.ts';
import { applyEvent } from '../core/journal/fold-run.ts';
import type { RunState } from '../core/run-state.ts';
import { describe } from '../core/transcript/transcript.ts';
import type { Paint, TranscriptLine } from '../core/transcript/transcript-line.ts';
import { wrapToWidth } from '../lib/wrap.ts';
import { safeStyled } from './paint.ts';
import { view } from './view.ts';

const FRAME_MS = 100;
const KEPT_LINES = 20;

export interface Screen extends NodeJS.WritableStream {
  columns?: number;
  rows?: number;
}

export interface Progress {
  show(event: JournalEvent): void;
  /** Puts a line above the frame, where it stays. */
  say: (line: string) => void;
  /** Draws the last frame, which stays, and gives the cursor back. Safe to call twice. */
  close(): void;
}

export interface ProgressOptions {
  screen: Screen;
  paint: Paint;
  /** Absolute path of the run directory. */
  dir: string;
  report?: boolean;
  /** What the keys do, for the last line of the frame. */
  keys?: string;
}

/** Draws a run's progress on a terminal, at most ten frames a second, in place. */
export function openProgress(options: ProgressOptions): Progress {
  const { screen, paint, dir, report = true, ...shown } = options;
  const draw = createLogUpdate(screen);
  let state: RunState | undefined;
  let height = 0;
  let recent: TranscriptLine[] = [];
  const timer = setInterval(redraw, FRAME_MS);

  function redraw(): void {
    if (state === undefined) return;
    const size = { width: screen.columns ?? 80, height: screen.rows ?? 24 };
    const lines = view({ state, recent, now: new Date().toISOString(), ...size, paint, dir, report, ...shown });
    // log-update does not shift the lines below inserted ones: a frame of another height starts afresh.
    if (lines.length !== height) draw.clear();
    height = lines.length;
    draw(safeStyled(lines.join('\n'), paint));
  }

  let closed = false;
  return {
    show(event) {
      state = applyEvent(state, event);
      if (event.type === 'story.started') recent = [];
      recent = [...recent, ...describe(event).filter((line) => line.story !== '')].slice(-KEPT_LINES);
    },
    say: (text) => draw.persist(safeStyled(wrapped(text, (screen.columns ?? 80) - 1), paint)),
    close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      redraw();
      draw.done();
    },
  };
}

function wrapped(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => wrapToWidth(line, width))
    .join('\n');
}

export interface Page {
  draw(lines: readonly string[]): void;
  /** Leaves what was drawn last, and gives the cursor back. */
  close(): void;
}

/** Draws pages in place, each over the one before, as far as they fit the terminal. */
export function openPage({ screen, paint }: { screen: Screen; paint: Paint }): Page {
  const draw = createLogUpdate(screen);
  return {
    draw(lines) {
      const room = Math.max(2, (screen.rows ?? 24) - 1);
      const shown =
        lines.length > room ? [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`] : lines;
      draw(safeStyled(shown.join('\n'), paint));
    },
    close: () => draw.done(),
  };
}
