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

/** The whole terminal as a drawing area. */
export interface Canvas {
  size(): { width: number; height: number };
  /** Draws lines from the top and omits those that do not fit. */
  draw(lines: readonly string[]): void;
  /** Restores the terminal and prints the last lines. Safe to call twice. */
  close(): void;
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
 * Draws on the alternate screen, which has no scrollback, so that lines that a resized terminal wraps or scrolls
 * disappear with the next draw. `last` returns the lines that remain; it is called when the canvas or the process ends.
 */
export function openCanvas({ screen, paint, pastes = false }: Drawing, last: () => readonly string[]): Canvas {
  const size = () => ({ width: screen.columns ?? 80, height: screen.rows ?? 24 });
  const enter = `${ENTER}${pastes ? MARK_PASTES : ''}`;
  let drawn: { width: number; height: number; lines: readonly string[] } | undefined;
  let closed = false;

  function leave(): void {
    if (drawn !== undefined) screen.write(`${pastes ? KEEP_PASTES : ''}${LEAVE}`);
    drawn = undefined;
  }

  function close(): void {
    if (closed) return;
    closed = true;
    process.off('exit', close);
    process.off('uncaughtExceptionMonitor', close);
    process.off('SIGTSTP', suspend);
    leave();
    screen.write(
      last()
        .map((line) => `${safeStyled(line, paint)}\n`)
        .join(''),
    );
  }

  function suspend(): void {
    leave();
    process.kill(process.pid, 'SIGSTOP');
  }

  process.on('exit', close);
  // A crash prints its error afterwards, where the user can read it.
  process.on('uncaughtExceptionMonitor', close);
  process.on('SIGTSTP', suspend);
  return {
    size,
    draw(lines) {
      if (closed) return;
      const { width, height } = size();
      const shown = lines.slice(0, height).map((line) => safeStyled(line, paint));
      const same = drawn?.width === width && drawn.height === height ? drawn.lines : undefined;
      const changed = shown.flatMap((line, row) =>
        same?.[row] === line ? [] : [`\u001b[${row + 1};1H${ERASE_LINE}${line}`],
      );
      const below = shown.length < (same?.length ?? height) ? `\u001b[${shown.length + 1};1H${ERASE_BELOW}` : '';
      if (changed.length > 0 || below !== '')
        screen.write(`${BEGIN}${drawn === undefined ? enter : ''}${changed.join('')}${below}${END}`);
      drawn = { width, height, lines: shown };
    },
    close,
  };
}
