import { createInterface } from 'node:readline/promises';
import { readTerminal, type Terminal } from '../config/environment/terminal-settings.ts';
import type { Screen } from '../tui/terminal.ts';
import { composeServices, type Services } from './compose.ts';
import { readKeys } from './run/read-keys.ts';
import { takeColor } from './take-color.ts';

/** Everything outside that a command touches; tests bring their own. */
export interface World {
  stdin: AsyncIterable<Uint8Array> & { isTTY?: boolean };
  stdout: Screen;
  stderr: NodeJS.WritableStream;
  terminal: Terminal;
  /** Absolute. */
  cwd: string;
  services: Services;
  /** Asks the person at the terminal; undefined where there is none. Rejects when the signal comes first. */
  ask: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
  /** Calls `listener` for each Ctrl-C and termination signal, which it names, instead of ending; returns how to stop that. */
  onStop(listener: (signal?: NodeJS.Signals) => void): () => void;
  /**
   * Calls `listener` for each key that is pressed at the terminal, which shows none of them meanwhile; Ctrl-C and Ctrl-Z
   * keep what they do. Answers how to stop that. Does nothing where there is no terminal.
   */
  onKey(listener: (key: string) => void): () => void;
  /** Ends the process at once. */
  exitNow(code: number): void;
}

/** The world of a real process. */
export function processWorld(words: readonly string[]): World {
  const stopping = new Set<() => void>();
  let unread = false;
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (unread) return;
      unread = true;
      // A reader that has seen enough (`| head`) is no error, but what is under way must end in good order.
      if (stopping.size === 0) process.exit(0);
      for (const stop of stopping) stop();
    });
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    terminal: readTerminal(process, undefined, takeColor(words).wish),
    cwd: process.cwd(),
    ask: process.stdin.isTTY && process.stdout.isTTY ? askPerson : undefined,
    services: composeServices(words),
    onStop(listener) {
      const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
      for (const signal of signals) process.on(signal, listener);
      stopping.add(listener);
      return () => {
        stopping.delete(listener);
        for (const signal of signals) process.off(signal, listener);
      };
    },
    onKey: (listener) => (process.stdin.isTTY ? readKeys(process.stdin, listener) : () => undefined),
    exitNow: (code) => process.exit(code),
  };
}

async function askPerson(question: string, signal: AbortSignal): Promise<string> {
  // Not as a terminal: Ctrl-C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stdout, terminal: false });
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
  } finally {
    lines.close();
  }
}
