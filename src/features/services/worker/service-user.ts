import { HaloError } from '../../../core/failure/errors.ts';
import { memoizeAsync } from '../../../lib/async.ts';
import { shellQuote } from '../../../lib/text.ts';
import { runOneOffSandbox } from '../../../sandbox/one-off-sandbox.ts';
import type { ImageFacts, SandboxEngine } from '../../../sandbox/sandbox.ts';

/** For images whose folders belong to root: no account of a common system has it. */
const DEFAULT_USER = 19_998;

const WALL_MS = 10_000;

/** As whom a service runs, and which of its folders the image lacks. */
export interface ServiceUserFacts {
  user: number;
  missing: string[];
}

/**
 * The user of a service: the owner of the first of its folders that does not belong to root, else the user id of the
 * image, else one without an account. So data that one container has written belongs to the next one, too.
 */
export function findServiceUser(
  engine: Pick<SandboxEngine, 'start'>,
  { id, user, volumes }: Pick<ImageFacts, 'id' | 'user' | 'volumes'>,
  folders: readonly string[],
): Promise<ServiceUserFacts> {
  const own = known.get(engine) ?? memoizeAsync((key: string) => readOwners(engine, key));
  known.set(engine, own);
  return own(JSON.stringify([id, volumes, folders])).then((owners) => chooseUser(folders, owners, user));
}

const known = new WeakMap<object, (key: string) => Promise<(number | undefined)[]>>();

/** The decision, by the owners of the folders; undefined: the image lacks one. */
export function chooseUser(
  folders: readonly string[],
  owners: readonly (number | undefined)[],
  imageUser: string,
): ServiceUserFacts {
  const missing = folders.filter((_, index) => owners[index] === undefined);
  const named = Number(/^\d+/.exec(imageUser)?.[0] ?? 0);
  const owner = owners.find((each) => each !== undefined && each > 0);
  return { user: owner ?? (named > 0 ? named : DEFAULT_USER), missing };
}

/** Uses the shell and `stat` of the image: whatever a hostile one answers is only used for its own containers. */
async function readOwners(engine: Pick<SandboxEngine, 'start'>, key: string): Promise<(number | undefined)[]> {
  const [image, volumes, folders] = JSON.parse(key) as [string, string[], string[]];
  if (folders.length === 0) return [];
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'owners',
    image,
    script: folders.map((folder) => `stat -c %u ${shellQuote(folder)} 2>/dev/null || echo -`).join('\n'),
    // Filled from the folders of the image.
    mounts: volumes.map((target) => ({ kind: 'volume' as const, source: '', target, readOnly: false, copyUp: true })),
    limits: { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 16, fileBytes: 4_096 },
    wallMs: WALL_MS,
  });
  if (exit.ended !== 'exited')
    throw new HaloError('DOCKER_FAILED', `The owners of folders of the image ${image} could not be read in time.`);
  return text
    .trim()
    .split('\n')
    .map((line) => (/^\d{1,9}$/.test(line) ? Number(line) : undefined));
}
