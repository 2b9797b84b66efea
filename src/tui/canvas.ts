import type { Paint } from '../core/transcript/transcript-line.ts';
import { safeStyled } from './paint.ts';

export interface Screen extends NodeJS.WritableStream {
  columns?: number;
  rows?: number;
}

/** The output, and the colors that lines may have: all other control characters are printed as code points. */
interface Drawing {
  screen: Screen;
  paint: Paint;
  /** The terminal marks pasted text, so that it can be distinguished from keys. */
  pastes?: boolean;
}

// Drawn in one write; no line wraps at the edge.
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const MARK_PASTES = '\u001b[?2004h';
const KEEP_PASTES = '\u001b[?2004l';
const ERASE_LINE = '\u001b[2K';
const ERASE_BELOW = '\u001b[J';

/**
 * The whole terminal as a drawing area. It draws on the alternate screen, which has no scrollback, so that lines that a
 * resized terminal wraps or scrolls disappear with the next draw.
 */
export class Canvas {
  readonly #drawing: Drawing;
  readonly #last: () => readonly string[];
  #drawn: { width: number; height: number; lines: readonly string[] } | undefined;
  #closed = false;
  #released = false;

  /** `last` returns the lines that remain; it is called when the canvas or the process ends. */
  constructor(drawing: Drawing, last: () => readonly string[]) {
    this.#drawing = drawing;
    this.#last = last;
    process.on('exit', this.close);
    // A crash prints its error afterwards, where the user can read it.
    process.on('uncaughtExceptionMonitor', this.close);
    process.on('SIGTSTP', this.#suspend);
  }

  size(): { width: number; height: number } {
    const { columns = 80, rows = 24 } = this.#drawing.screen;
    return { width: columns, height: rows };
  }

  /** Draws lines from the top and omits those that do not fit. */
  draw(lines: readonly string[]): void {
    if (this.#closed || this.#released) return;
    const { screen, paint, pastes = false } = this.#drawing;
    const { width, height } = this.size();
    const shown = lines.slice(0, height).map((line) => safeStyled(line, paint));
    const same = this.#drawn?.width === width && this.#drawn.height === height ? this.#drawn.lines : undefined;
    const changed = shown.flatMap((line, row) =>
      same?.[row] === line ? [] : [`\u001b[${row + 1};1H${ERASE_LINE}${line}`],
    );
    const below = shown.length < (same?.length ?? height) ? `\u001b[${shown.length + 1};1H${ERASE_BELOW}` : '';
    const enter = this.#drawn === undefined ? `${ENTER}${pastes ? MARK_PASTES : ''}` : '';
    if (changed.length > 0 || below !== '') screen.write(`${BEGIN}${enter}${changed.join('')}${below}${END}`);
    this.#drawn = { width, height, lines: shown };
  }

  /** Restores the terminal and prints the last lines. Safe to call twice. */
  close = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    process.off('exit', this.close);
    process.off('uncaughtExceptionMonitor', this.close);
    process.off('SIGTSTP', this.#suspend);
    this.#leave();
    const { screen, paint } = this.#drawing;
    screen.write(
      this.#last()
        .map((line) => `${safeStyled(line, paint)}\n`)
        .join(''),
    );
  };

  /** Leaves the terminal to another program until `take`. */
  release(): void {
    this.#released = true;
    this.#leave();
  }

  take(): void {
    this.#released = false;
  }

  #leave(): void {
    const { screen, pastes = false } = this.#drawing;
    if (this.#drawn !== undefined) screen.write(`${pastes ? KEEP_PASTES : ''}${LEAVE}`);
    this.#drawn = undefined;
  }

  readonly #suspend = (): void => {
    this.#leave();
    process.kill(process.pid, 'SIGSTOP');
  };
}
