import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import type { Mount, OverlayVolume, SandboxEngine, SandboxLabels } from '../../sandbox.ts';
import { processLabel } from '../cleanup/orphans.ts';
import { containerLabels } from '../container-spec.ts';
import { toDockerError } from '../docker-errors.ts';

/** Folders of the upper volume: what sandboxes write, and the kernel's own. */
const [UPPER, WORK] = ['upper', 'work'];
const MOUNT = '/workspace';

type Access = { docker: Docker } & Pick<SandboxEngine, 'start'>;

/**
 * Creates an overlay volume with the engine's local driver, which mounts it when a container starts. `redirect_dir`
 * allows a rename of folders of the lower volume, which package managers do. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function createOverlay(
  { docker, start }: Access,
  { name, upper, lower, user }: OverlayVolume,
  labels: SandboxLabels,
): Promise<void> {
  try {
    const [from, into] = await Promise.all([
      requireMountpoint(docker, lower),
      requireMountpoint(docker, upper),
      makeFolders({ start }, upper, user),
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

/** The user owns the top folder, so that it can rename what others own. The sandbox is removed in the background. */
async function makeFolders(access: Pick<SandboxEngine, 'start'>, volume: string, user: number): Promise<void> {
  const mounts: Mount[] = [{ kind: 'volume', source: volume, target: MOUNT, readOnly: false, copyUp: true }];
  const script = `cd ${MOUNT} && mkdir -m 755 ${UPPER} ${WORK}`;
  const { exit } = await runOneOffSandbox(access, { purpose: 'folders', user, mounts, script, removal: 'background' });
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
