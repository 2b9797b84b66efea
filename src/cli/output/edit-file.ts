import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { HaloError } from '../../core/failure/errors.ts';

/**
 * Lets a person edit a file at their terminal, and waits. `editor` may have arguments and is theirs, so a shell reads
 * it; the path is no part of what the shell reads. Throws USAGE when the editor fails: nothing may be taken over then.
 */
export async function editFile(editor: string, path: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, 'halo', path], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code === 0) return;
  // So a shell says that there is no such program, or none that it may run.
  if (code === 126 || code === 127)
    throw new HaloError('USAGE', `The editor \`${editor}\` could not be started.`, {
      hint: 'Set VISUAL or EDITOR to one that is installed, as in `EDITOR=nano halo prd edit`.',
    });
  throw new HaloError('USAGE', `The editor \`${editor}\` ended with ${code === null ? 'a signal' : `exit ${code}`}.`, {
    hint: 'The PRD is as it was; if you wrote something, the next edit goes on with it.',
  });
}
