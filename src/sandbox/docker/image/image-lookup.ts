import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import { AGENT_HOME, type SandboxEngine } from '../../sandbox.ts';
import { engineStatus, imageMissing, toDockerError } from '../docker-client.ts';

/** How long an id is cached: an image may be rebuilt while a worker runs. */
const FRESH_MS = 10_000;

/** Folders that every sandbox covers with its own mounts, so that a VOLUME there has no effect. */
const COVERED = ['/workspace', '/tmp', '/run', AGENT_HOME];

/**
 * Looks up the id of an image name, so that a sandbox starts from exactly the image that was checked. Throws IMAGE_MISSING,
 * and CONFIG_INVALID for an image that declares a VOLUME, because no limit would apply to it.
 */
export function openImageLookup(docker: Docker): (name: string) => Promise<string> {
  const known = new Map<string, { at: number; id: Promise<string> }>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined && performance.now() - found.at < FRESH_MS) return found.id;
    const id = inspectImage(docker, name);
    known.set(name, { at: performance.now(), id });
    // Do not cache failures: the image may exist on the next try.
    id.catch(() => known.delete(name));
    return id;
  };
}

async function inspectImage(docker: Docker, name: string): Promise<string> {
  const { Id, Config } = await docker
    .getImage(name)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? imageMissing(name) : toDockerError(error, 'look for an image');
    });
  assertNoVolumes(name, Object.keys(Config.Volumes ?? {}));
  return Id;
}

function assertNoVolumes(name: string, volumes: string[]): void {
  const uncovered = volumes.filter((path) => !COVERED.includes(path.replace(/(?<!\/)\/+$/, '')));
  if (uncovered.length === 0) return;
  throw new HaloError('CONFIG_INVALID', `The image ${JSON.stringify(name)} declares VOLUME ${uncovered.join(', ')}.`, {
    hint: 'Use an image without VOLUME, or build one from its parent: halo cannot limit the size of such a volume.',
  });
}

/** The texts of /etc/passwd and /etc/group. */
interface Accounts {
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
