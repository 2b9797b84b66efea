import { execa } from 'execa';
import { HaloError } from '../../core/failure/errors.ts';

/** A person may have to touch a device or unlock a store first. */
const WAIT_MS = 120_000;

/** The output of a command such as `pass show x`, run by `sh`. What it prints is in no error. Throws MODEL_KEY_MISSING. */
export async function runKeyCommand(command: string): Promise<string> {
  const result = await execa('sh', ['-c', command], {
    stdin: 'ignore',
    stderr: 'ignore',
    timeout: WAIT_MS,
    maxBuffer: 64 * 1024,
    reject: false,
  });
  if (!result.failed) return result.stdout;
  const how = result.timedOut ? 'did not end in time' : `ended with exit code ${result.exitCode ?? 'unknown'}`;
  throw new HaloError('MODEL_KEY_MISSING', `the command in [model] key_command ${how}`, {
    hint: 'run it by hand, as the user of the worker, to see what it says',
  });
}
