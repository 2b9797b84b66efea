import type { Readable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { takeKeys } from './raw-terminal.ts';

/** The terminal of a person, whose keys all go to one program, also Ctrl-C. */
export interface TakenTerminal {
  input: Readable;
  size(): { rows: number; columns: number };
  /** Calls `listener` when the size has changed. Returns a function that removes it. */
  onResize(listener: () => void): () => void;
  /** Writes text that is safe to display; calls back when it was written. */
  write(text: string, done: () => void): void;
  /** Gives the terminal back. */
  release(): void;
}

/** Takes the terminal. If it is closed, this process gets SIGHUP. */
export function takeTerminal(stdin: ReadStream, stdout: WriteStream): TakenTerminal {
  const release = takeKeys(stdin);
  return {
    input: stdin,
    size: () => ({ rows: stdout.rows, columns: stdout.columns }),
    onResize(listener) {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    write: (text, done) => void stdout.write(text, () => done()),
    release,
  };
}
