import { askSandbox } from '../one-off-sandbox.ts';
import type { SandboxEngine } from '../sandbox.ts';

/** The texts of /etc/passwd and /etc/group. */
export interface Accounts {
  passwd: string;
  group: string;
}

/** Of both files; what is longer is not used: an image may hold anything there. */
const MAX_BYTES = 256 * 1024;
const NOTHING: Accounts = { passwd: 'root:x:0:0:root:/root:/bin/sh\n', group: 'root:x:0:\n' };

/** Programs of the shell alone: an image need not have `cat`. The last line without a line ending is read as well. */
const SHOW = ['passwd', 'group']
  .map((name) => `while IFS= read -r line || [ -n "$line" ]; do printf '${name} %s\\n' "$line"; done < /etc/${name}`)
  .join('\n');

/**
 * The accounts that an image has, read by its own shell in a sandbox; those of an image without such files are root
 * alone. What a hostile image says here is seen by its own sandboxes only.
 */
export async function readAccounts(engine: Pick<SandboxEngine, 'start'>, image: string): Promise<Accounts> {
  const { text } = await askSandbox(engine, { about: 'accounts', image, script: SHOW, outputBytes: MAX_BYTES });
  if (Buffer.byteLength(text) >= MAX_BYTES) return NOTHING;
  const linesOf = (name: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `))
      .map((line) => `${line.slice(name.length + 1)}\n`)
      .join('');
  return { passwd: linesOf('passwd') || NOTHING.passwd, group: linesOf('group') || NOTHING.group };
}
