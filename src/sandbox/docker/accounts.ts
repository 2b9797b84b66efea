import type Docker from 'dockerode';
import { discardBelonging } from './belongings.ts';
import { LABEL } from './container-spec.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { processLabel } from './throwaways.ts';

/** The texts of /etc/passwd and /etc/group. */
export interface Accounts {
  passwd: string;
  group: string;
}

/** Larger files are not read: an image may hold anything there. */
const MOST_BYTES = 256 * 1024;
const BLOCK = 512;
const NOTHING: Accounts = { passwd: 'root:x:0:0:root:/root:/bin/sh\n', group: 'root:x:0:\n' };

/** The accounts that an image has; those of an image without such files are root alone. Nothing of it is run. */
export async function readAccounts(docker: Docker, image: string): Promise<Accounts> {
  try {
    const container = await docker.createContainer({
      Image: image,
      // An image without a command cannot be created otherwise; it never starts.
      Entrypoint: ['/nothing'],
      Labels: { [LABEL]: 'accounts', [`${LABEL}.run`]: 'probe', ...processLabel() },
      HostConfig: { NetworkMode: 'none', CapDrop: ['ALL'], ReadonlyRootfs: true },
    });
    try {
      const [passwd, group] = await Promise.all(
        ['/etc/passwd', '/etc/group'].map((path) => readSmallFile(container, path)),
      );
      return { passwd: passwd ?? NOTHING.passwd, group: group ?? NOTHING.group };
    } finally {
      await discardBelonging(docker, { kind: 'container', name: container.id });
    }
  } catch (error) {
    throw fromDocker(error, 'read the accounts of an image');
  }
}

/** The text of a regular file in a container; undefined when there is none, or when it is large or a link. */
async function readSmallFile(container: Docker.Container, path: string): Promise<string | undefined> {
  const archive = await container.getArchive({ path }).catch((error: unknown) => {
    if (engineStatus(error) === 404) return undefined;
    throw error;
  });
  if (archive === undefined) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of archive as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BYTES) return undefined;
  }
  return firstFile(Buffer.concat(chunks));
}

/** The content of the first entry of a tar archive, if that is a regular file. */
function firstFile(tar: Buffer): string | undefined {
  const [size, type] = [tar.toString('latin1', 124, 135), tar.toString('latin1', 156, 157)];
  const bytes = Number.parseInt(size, 8);
  if (!/^[0\0]$/.test(type) || !Number.isFinite(bytes) || BLOCK + bytes > tar.length) return undefined;
  return tar.toString('utf8', BLOCK, BLOCK + bytes);
}
