import { HaloError } from '../../core/failure/errors.ts';
import { runOneOffSandbox } from '../one-off-sandbox.ts';
import type { SandboxEngine } from '../sandbox.ts';

/** The texts of /etc/passwd and /etc/group. */
export interface Accounts {
  passwd: string;
  group: string;
}

/** Limit for both files together; longer ones are not used, because an image may contain anything there. */
const MAX_BYTES = 256 * 1024;
const DEFAULT_ACCOUNTS: Accounts = { passwd: 'root:x:0:0:root:/root:/bin/sh\n', group: 'root:x:0:\n' };

/** Uses shell builtins only: an image may not have `cat`. Also reads a last line without a newline. */
const SCRIPT = ['passwd', 'group']
  .map((name) => `while IFS= read -r line || [ -n "$line" ]; do printf '${name} %s\\n' "$line"; done < /etc/${name}`)
  .join('\n');

/**
 * Reads the accounts of an image with its own shell in a sandbox; default: only root. Whatever a hostile image returns is
 * only used in its own sandboxes. Throws IMAGE_MISSING, DOCKER_FAILED.
 */
export async function readAccounts(engine: Pick<SandboxEngine, 'start'>, image: string): Promise<Accounts> {
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'accounts',
    image,
    script: SCRIPT,
    outputBytes: MAX_BYTES,
  });
  if (exit.ended !== 'exited' && exit.ended !== 'output')
    throw new HaloError('DOCKER_FAILED', `The user accounts of the image ${image} could not be read in time.`);
  if (Buffer.byteLength(text) >= MAX_BYTES) return DEFAULT_ACCOUNTS;
  const linesOf = (name: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `))
      .map((line) => `${line.slice(name.length + 1)}\n`)
      .join('');
  return { passwd: linesOf('passwd') || DEFAULT_ACCOUNTS.passwd, group: linesOf('group') || DEFAULT_ACCOUNTS.group };
}
