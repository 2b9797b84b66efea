import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';

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

/**
 * Opens a file in the user's editor and waits. `editor` may have arguments, so a shell parses it; the path is passed as
 * an argument and not parsed. Throws USAGE when the editor fails: the edit must then be discarded.
 */
export async function editFile(editor: string, path: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, 'halo', path], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code === 0) return;
  // The shell's codes for a program that does not exist or is not executable.
  if (code === 126 || code === 127)
    throw new HaloError('USAGE', `The editor \`${editor}\` could not be started.`, {
      hint: 'Set VISUAL or EDITOR to one that is installed, as in `EDITOR=nano halo prd edit`.',
    });
  throw new HaloError('USAGE', `The editor \`${editor}\` ended with ${code === null ? 'a signal' : `exit ${code}`}.`, {
    hint: 'Edit again to continue with your draft, if you saved one. The PRD is unchanged.',
  });
}
