import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_HOME, type Mount } from '../../sandbox/sandbox.ts';
import type { WorkerContext } from '../worker-context.ts';

/** The user name in every sandbox. */
const NAME = 'agent';

/** What Docker Engine writes for a container without a network. */
const HOSTS = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
`;

/**
 * Writes an image's /etc/passwd and /etc/group, plus an entry for the sandbox's user, and /etc/hosts into `dir` and returns
 * their mounts. Programs such as ssh, initdb and whoami refuse a user without an entry.
 */
export async function mountAccounts(
  worker: Pick<WorkerContext, 'accounts'>,
  { image, user, dir }: { image: string; user: number; dir: string },
): Promise<Mount[]> {
  const { passwd, group } = await worker.accounts(image);
  const files = [
    ['passwd', `${endLine(passwd)}${NAME}:x:${user}:${user}::${AGENT_HOME}:/bin/sh\n`],
    ['group', `${endLine(group)}${NAME}:x:${user}:\n`],
    ['hosts', HOSTS],
  ] as const;
  return Promise.all(
    files.map(async ([name, text]): Promise<Mount> => {
      const source = join(dir, name);
      await writeFile(source, text);
      await chmod(source, 0o644);
      return { kind: 'bind', source, target: `/etc/${name}`, readOnly: true };
    }),
  );
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
