import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import type { Mount, OverlayVolume, SandboxEngine, SandboxLabels } from '../../sandbox.ts';
import { containerLabels } from '../container-spec.ts';
import { toDockerError } from '../docker-errors.ts';

/** Folders of the upper volume: what sandboxes write, and the kernel's own. */
const [UPPER, WORK] = ['upper', 'work'];
const MOUNT = '/workspace';

/**
 * Creates an overlay volume with the engine's local driver, which mounts it when a container starts. `redirect_dir`
 * allows a rename of folders of the lower volume, which package managers do. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function createOverlay(
  { docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>,
  { name, upper, lower, user }: OverlayVolume,
  labels: SandboxLabels,
): Promise<void> {
  try {
    const mount: Mount = { kind: 'volume', source: upper, target: MOUNT, readOnly: false, copyUp: true };
    const script = `cd ${MOUNT} && mkdir -m 755 ${UPPER} ${WORK}`;
    const { exit } = await runOneOffSandbox({ start }, { purpose: 'folders', user, mounts: [mount], script });
    if (exit.exitCode !== 0)
      throw new HaloError('DOCKER_FAILED', 'The folders of an overlay volume could not be created.');
    const [from, into] = await Promise.all([lower, upper].map((volume) => findFolder(docker, volume)));
    const layers = `lowerdir=${from},upperdir=${into}/${UPPER},workdir=${into}/${WORK}`;
    await docker.createVolume({
      Name: name,
      Driver: 'local',
      DriverOpts: { type: 'overlay', device: 'overlay', o: `${layers},redirect_dir=on` },
      Labels: containerLabels(labels, user),
    });
  } catch (error) {
    throw toDockerError(error, 'create an overlay volume');
  }
}

/** Where the engine keeps the files of a volume; commas and colons would separate options of the mount. */
async function findFolder(docker: Docker, volume: string): Promise<string> {
  const { Mountpoint } = await docker.getVolume(volume).inspect();
  if (/^\/[\w./-]+$/.test(Mountpoint)) return Mountpoint;
  throw new HaloError(
    'DOCKER_FAILED',
    `The engine’s folder ${JSON.stringify(Mountpoint)} cannot be part of an overlay.`,
    { hint: 'Set snapshot.mode = "copy".' },
  );
}
