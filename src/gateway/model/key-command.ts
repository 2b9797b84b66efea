import { execa } from 'execa';
import { HaloError } from '../../core/failure/errors.ts';

/** The user may have to touch a device or unlock a store first. */
const TIMEOUT_MS = 120_000;

/** Runs a command such as `pass show x` with `sh` and returns its output, which never appears in errors. Throws MODEL_KEY_MISSING. */
export async function runKeyCommand(command: string): Promise<string> {
  const result = await execa('sh', ['-c', command], {
    stdin: 'ignore',
    stderr: 'ignore',
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024,
    reject: false,
  });
  if (!result.failed) return result.stdout;
  const how = result.timedOut ? 'did not end in time' : `ended with exit code ${result.exitCode ?? 'unknown'}`;
  throw new HaloError('MODEL_KEY_MISSING', `The command in [model] key_command ${how}.`, {
    hint: 'Run it manually as the user of the worker to see its output.',
  });
}
