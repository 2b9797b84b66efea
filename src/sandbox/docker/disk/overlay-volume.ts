import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { closeAll } from '../../../lib/async.ts';
import { defined } from '../../../lib/guards.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import {
  SNAPSHOT_GROUP,
  type Mount,
  type OverlayVolume,
  type SandboxEngine,
  type SandboxLabels,
} from '../../sandbox.ts';
import { containerLabels } from '../container-spec.ts';
import { isEngineResponse, toDockerError } from '../docker-client.ts';
import { processLabel, removeLabelledResource } from '../labelled-resources.ts';

/** Folders of the upper volume: what sandboxes write, and the kernel's own. */
const [UPPER, WORK] = ['upper', 'work'];
const MOUNT = '/workspace';
const LOWER = '/halo/snapshot';

interface Access extends Pick<SandboxEngine, 'start'> {
  docker: Docker;
  /** Receives the removal of the sandbox that made the folders; until then, it uses both volumes. */
  removing?: (removed: Promise<void>) => void;
}

/**
 * Creates an overlay volume with the engine's local driver, which mounts it when a container starts. `redirect_dir`
 * allows a rename of folders of the lower volume, which package managers do. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function createOverlay(
  access: Access,
  { name, upper, lower, user, keepsMode }: OverlayVolume,
  labels: SandboxLabels,
): Promise<void> {
  const { docker } = access;
  try {
    const [from, into] = await Promise.all([
      requireMountpoint(docker, lower),
      requireMountpoint(docker, upper),
      makeFolders(access, { upper, user, like: keepsMode && lower }),
    ]);
    const layers = `lowerdir=${from},upperdir=${into}/${UPPER},workdir=${into}/${WORK}`;
    await docker.createVolume({
      Name: name,
      Driver: 'local',
      DriverOpts: { type: 'overlay', device: 'overlay', o: `${layers},redirect_dir=on` },
      Labels: { ...containerLabels(labels, user), ...processLabel() },
    });
  } catch (error) {
    throw toDockerError(error, 'create an overlay volume');
  }
}

/** The user owns the top folder, so that it can rename what others own. */
async function makeFolders(
  { start, removing }: Access,
  { upper, user, like }: { upper: string; user: number; like: string | undefined },
): Promise<void> {
  const mounts = [mountOf(upper)];
  if (like !== undefined) mounts.push({ kind: 'volume', source: like, target: LOWER, readOnly: true, copyUp: false });
  const mode = like === undefined ? '755' : `"$(stat -c %a ${LOWER})"`;
  const script = `cd ${MOUNT} && mkdir -m ${mode} ${UPPER} ${WORK}`;
  const { exit } = await runOneOffSandbox(
    { start },
    { purpose: 'folders', user, mounts, script, ...defined({ removing }) },
  );
  if (exit.exitCode !== 0)
    throw new HaloError('DOCKER_FAILED', 'The folders of an overlay volume could not be created.');
}

/** Where the engine keeps the files of a volume; commas and colons would separate options of the mount. */
async function requireMountpoint(docker: Docker, volume: string): Promise<string> {
  const { Mountpoint } = await docker.getVolume(volume).inspect();
  if (/^\/[\w./-]+$/.test(Mountpoint)) return Mountpoint;
  throw new HaloError(
    'DOCKER_FAILED',
    `The engine’s folder ${JSON.stringify(Mountpoint)} cannot be part of an overlay.`,
    { hint: 'Set snapshot.mode = "copy".' },
  );
}

const LABELS: SandboxLabels = { run: 'probe', storyKey: 'overlay', attempt: 1, phase: 'probe' };
const [OWNER, OTHER] = [65_533, 65_534];

/** A folder with a file that another user may change through the group. */
const FILL = [
  `cd ${MOUNT}`,
  'umask 002',
  'mkdir a',
  'echo lower > a/file',
  `chgrp -R ${SNAPSHOT_GROUP} a`,
  'chmod g+s a',
].join(' && ');
/** What package managers do: append, rename the folder, remove. */
const USE = [`cd ${MOUNT}`, 'echo upper >> a/file', 'mv a b', 'cat b/file', 'rm -r b', '[ ! -e a ]'].join(' && ');

/** Whether the engine can mount an overlay of two volumes, and does it correctly. Throws DOCKER_UNAVAILABLE. */
export async function canOverlay({
  docker,
  start,
}: { docker: Docker } & Pick<SandboxEngine, 'start'>): Promise<boolean> {
  const id = randomBytes(6).toString('hex');
  const [lower, upper, name] = ['lower', 'upper', 'overlay'].map((part) => `halo-probe-${id}-${part}`) as [string, string, string]; // prettier-ignore
  const run = (volume: string, user: number, script: string) =>
    runOneOffSandbox({ start }, { purpose: 'overlay', user, script, mounts: [mountOf(volume)] });
  try {
    for (const Name of [lower, upper])
      await docker.createVolume({ Name, Labels: { ...containerLabels(LABELS), ...processLabel() } });
    await run(lower, OWNER, FILL);
    await createOverlay({ docker, start }, { name, upper, lower, user: OTHER }, LABELS);
    const used = await run(name, OTHER, USE);
    const kept = await run(lower, OWNER, `cat ${MOUNT}/a/file`);
    return used.exit.exitCode === 0 && used.text === 'lower\nupper\n' && kept.text === 'lower\n';
  } catch (error) {
    if (isEngineResponse(error) || isUnusable(error)) return false;
    throw error;
  } finally {
    await closeAll([lower, upper, name].map((volume) => () => removeLabelledResource(docker, { kind: 'volume', name: volume }))); // prettier-ignore
  }
}

/** The engine keeps volumes where no overlay can be made of them. */
function isUnusable(error: unknown): boolean {
  return error instanceof HaloError && error.code === 'DOCKER_FAILED' && error.cause === undefined;
}

function mountOf(source: string): Mount {
  return { kind: 'volume', source, target: MOUNT, readOnly: false, copyUp: true };
}
