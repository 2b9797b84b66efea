import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/** A program that shows text page by page. */
export interface Pager {
  input: Writable;
  /** Ends the input, and resolves after the user has left the pager. */
  close(): Promise<void>;
}

/** Starts the user's pager with a shell, because its command line may have arguments. */
export function startPager({ command, env }: { command: string; env: NodeJS.ProcessEnv }): Pager {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], env });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  // A user who leaves early needs no more output.
  child.stdin.on('error', () => undefined);
  return {
    input: child.stdin,
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
