import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/** A program that shows text page by page on the terminal. */
export interface Pager {
  input: Writable;
  /** Ends the input, and resolves when the person has left the pager. */
  close(): Promise<void>;
}

/** Starts the user's pager; its command line is theirs, so a shell reads it. */
export function startPager({ command, env }: { command: string; env: NodeJS.ProcessEnv }): Pager {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], env });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  // Who leaves early has seen enough.
  child.stdin.on('error', () => undefined);
  return {
    input: child.stdin,
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
