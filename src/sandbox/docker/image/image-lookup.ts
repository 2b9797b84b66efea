import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import { AGENT_HOME, type ImageFacts, type SandboxEngine } from '../../sandbox.ts';
import { engineStatus, imageMissing, toDockerError } from '../docker-client.ts';

/** How long an id is cached: an image may be rebuilt while a worker runs. */
const FRESH_MS = 10_000;

/** Folders that every sandbox has in memory, so that a VOLUME there has no effect. */
const IN_MEMORY = ['/tmp', '/run', AGENT_HOME];
/** Folders in which a sandbox for commands has a mount. */
const COVERED = ['/workspace'];

/** Looks up an image by its name, so that a sandbox starts from exactly the image that was checked. Throws IMAGE_MISSING. */
export function openImageLookup(docker: Docker): (name: string) => Promise<ImageFacts> {
  const known = new Map<string, { at: number; image: Promise<ImageFacts> }>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined && performance.now() - found.at < FRESH_MS) return found.image;
    const image = inspectImage(docker, name);
    known.set(name, { at: performance.now(), image });
    // Do not cache failures: the image may exist on the next try.
    image.catch(() => known.delete(name));
    return image;
  };
}

/** Throws like the function that `openImageLookup` returns. */
export async function inspectImage(docker: Docker, name: string): Promise<ImageFacts> {
  const { Id, Config, Os, Architecture, RootFS } = await docker
    .getImage(name)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? imageMissing(name, error) : toDockerError(error, 'look for an image');
    });
  const parts = [Os, Architecture, RootFS.Layers ?? [], (Config.Env as string[] | null) ?? []];
  return {
    id: Id,
    content: createHash('sha256').update(JSON.stringify(parts)).digest('hex'),
    entrypoint: wordsOf(Config.Entrypoint),
    command: wordsOf(Config.Cmd),
    user: Config.User ?? '',
    workdir: Config.WorkingDir ?? '',
    volumes: Object.keys(Config.Volumes ?? {})
      .map((path) => path.replace(/(?<=.)\/+$/, ''))
      .filter((path) => !IN_MEMORY.includes(path)),
    stopSignal: (Config as { StopSignal?: string }).StopSignal ?? 'SIGTERM',
  };
}

function wordsOf(words: string | string[] | null | undefined): string[] {
  return typeof words === 'string' ? [words] : (words ?? []);
}

/** Throws CONFIG_INVALID for an image with a VOLUME that is not among the mounted folders, because no limit would apply to it. */
export function assertNoVolumes(name: string, { volumes }: ImageFacts, mounted: readonly string[] = []): void {
  const uncovered = volumes.filter((path) => ![...COVERED, ...mounted].includes(path));
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
