import { basename } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { COLORS, readTerminal, type ColorMode, type Terminal } from '../config/environment/terminal-settings.ts';
import { exitCodeOf } from '../core/failure/stop-reason.ts';
import type { Screen } from '../tui/canvas.ts';
import { composeServices, type Services } from './compose.ts';
import { readKeys } from './run/read-keys.ts';
import { takeTerminal, type TakenTerminal } from './run/take-terminal.ts';

/** Everything outside the program that a command uses; tests replace it. */
export interface ProcessIo {
  /** The command as it was called: the package installs a second one for scripts of that tool. */
  program: 'halo' | 'lever';
  stdin: AsyncIterable<Uint8Array> & { isTTY?: boolean };
  stdout: Screen;
  stderr: NodeJS.WritableStream;
  terminal: Terminal;
  /** Absolute. */
  cwd: string;
  services: Services;
  /** Asks the user at the terminal; undefined without a terminal. Rejects if the signal aborts first. */
  ask: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
  /**
   * Calls `listener` with the name of each Ctrl-C and termination signal, instead of ending the process, and without one
   * when the reader of the output has closed it (`| head`): what only prints ends then, work continues. Returns a function
   * that removes it.
   */
  onStop(listener: (signal?: NodeJS.Signals) => void): () => void;
  /**
   * What is printed if Ctrl-C or a termination signal ends the process while nothing listens to it; undefined: nothing. The
   * process still ends by the signal, so that a shell stops its loop.
   */
  sayWhenEnded(text: string | undefined): void;
  /**
   * Calls `listener` with the name of each key that is pressed at the terminal, without echo, e.g. `d`, `D`, `up` or
   * `ctrl-r`; Ctrl-C and Ctrl-Z keep their effects.
   * Returns a function that removes it. Does nothing without a terminal.
   */
  onKey(listener: (key: string) => void): () => void;
  /** Gives the terminal to a program; undefined if stdin and stdout are not a terminal. */
  takeTerminal(): TakenTerminal | undefined;
  /** Calls `listener` when the process that started this one, with a channel to it, has ended; never without a channel. */
  onParentEnd(listener: () => void): void;
  /** Ends the process immediately. */
  exitNow(code: number): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const COLOR_OPTION = '--color=';

/** Removes `--color=always`, `never` and `auto` before a `--` from the command line; the last one applies. */
export function takeColor(words: readonly string[]): { words: string[]; mode: ColorMode } {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const modeOf = (word: string) => COLORS.find((mode) => word === `${COLOR_OPTION}${mode}`);
  const modes = words.slice(0, end).flatMap((word) => modeOf(word) ?? []);
  const left = words.filter((word, index) => index >= end || modeOf(word) === undefined);
  return { words: left, mode: modes.at(-1) ?? 'auto' };
}

/** The streams, terminal and signals of the current process. */
export function openProcessIo(words: readonly string[]): ProcessIo {
  let lastWords: string | undefined;
  const onEnd = (signal: NodeJS.Signals) => {
    if (stopping.size > 0) return;
    process.stderr.write(`${lastWords}\n`);
    for (const each of SIGNALS) process.off(each, onEnd);
    process.kill(process.pid, signal);
  };
  const stopping = new Set<(signal?: NodeJS.Signals) => void>();
  let unread = false;
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (unread) return;
      unread = true;
      // EIO: the terminal was closed.
      if (error.code !== 'EPIPE' && error.code !== 'EIO') return reportUnwritten(error, stopping.size > 0);
      // A reader that closes the pipe (`| head`) is not an error.
      if (stopping.size === 0) process.exit(0);
      for (const stop of stopping) stop(error.code === 'EIO' ? 'SIGHUP' : undefined);
    });
  return {
    program: basename(process.argv[1] ?? '') === 'lever' ? 'lever' : 'halo',
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    terminal: readTerminal(process, undefined, takeColor(words).mode),
    cwd: process.cwd(),
    ask: process.stdin.isTTY && process.stdout.isTTY ? askPerson : undefined,
    services: composeServices(words),
    onStop(listener) {
      for (const signal of SIGNALS) process.on(signal, listener);
      stopping.add(listener);
      return () => {
        stopping.delete(listener);
        for (const signal of SIGNALS) process.off(signal, listener);
      };
    },
    sayWhenEnded(text) {
      for (const signal of SIGNALS) process.off(signal, onEnd);
      lastWords = text;
      if (text !== undefined) for (const signal of SIGNALS) process.on(signal, onEnd);
    },
    onKey: (listener) => (process.stdin.isTTY ? readKeys(process.stdin, listener) : () => undefined),
    takeTerminal: () =>
      process.stdin.isTTY && process.stdout.isTTY ? takeTerminal(process.stdin, process.stdout) : undefined,
    onParentEnd(listener) {
      // The channel alone keeps no process alive.
      process.channel?.unref();
      process.once('disconnect', listener);
    },
    exitNow: (code) => process.exit(code),
  };
}

/** Running work continues without its output. */
function reportUnwritten({ message }: Error, isWorking: boolean): void {
  process.stderr.write(`error[DISK_FAILED]: Could not write the output: ${message}.\n`);
  if (!isWorking) process.exit(exitCodeOf('INFRASTRUCTURE'));
}

async function askPerson(question: string, signal: AbortSignal): Promise<string> {
  // Not in raw mode: Ctrl-C remains a signal.
  const lines = createInterface({ input: process.stdin, output: process.stdout, terminal: false });
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
  } finally {
    lines.close();
  }
}
