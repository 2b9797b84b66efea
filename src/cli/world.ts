import { readTerminal, type Terminal } from '../config/terminal.ts';
import type { Screen } from '../tui/terminal.ts';
import { composeServices, type Services } from './compose.ts';

/** Everything outside that a command touches; tests bring their own. */
export interface World {
  stdin: AsyncIterable<Uint8Array>;
  stdout: Screen;
  stderr: NodeJS.WritableStream;
  terminal: Terminal;
  /** Absolute. */
  cwd: string;
  services: Services;
  /** Calls `listener` for each Ctrl-C and termination signal instead of ending; returns how to stop that. */
  onStop(listener: () => void): () => void;
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
    terminal: readTerminal(process),
    cwd: process.cwd(),
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
    exitNow: (code) => process.exit(code),
  };
}
