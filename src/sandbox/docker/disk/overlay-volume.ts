import type Docker from 'dockerode';
import { pack } from 'tar-stream';
import { HaloError } from '../../../core/failure/errors.ts';
import { readStream } from '../../../lib/fs.ts';
import type { OverlayVolume, SandboxLabels } from '../../sandbox.ts';
import { removeLabelledResource } from '../cleanup/labelled-resources.ts';
import { containerLabels } from '../container-spec.ts';
import { toDockerError } from '../docker-errors.ts';
import { HALO_IMAGE } from '../image/halo-image.ts';

/** Folders of the upper volume: what sandboxes write, and the kernel's own. */
const [UPPER, WORK] = ['upper', 'work'];
const MOUNT = '/mnt';
const MAX_ARCHIVE_BYTES = 64 * 1024;

/**
 * Creates an overlay volume with the engine's local driver, which mounts it when a container starts. `redirect_dir`
 * allows a rename of folders of the lower volume, which package managers do. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function createOverlay(docker: Docker, overlay: OverlayVolume, labels: SandboxLabels): Promise<void> {
  const { name, upper, lower, user } = overlay;
  try {
    await createFolders(docker, upper, user);
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

/** Where the engine keeps the files of a volume; the local driver passes commas and colons on as separators. */
async function findFolder(docker: Docker, volume: string): Promise<string> {
  const { Mountpoint } = await docker.getVolume(volume).inspect();
  if (/^\/[\w./-]+$/.test(Mountpoint)) return Mountpoint;
  throw new HaloError(
    'DOCKER_FAILED',
    `The engine’s folder ${JSON.stringify(Mountpoint)} cannot be part of an overlay.`,
  );
}

/** Creates the folders through a container that never starts, which is faster than one that runs a command. */
async function createFolders(docker: Docker, volume: string, user: number): Promise<void> {
  const archive = pack();
  archive.entry({ name: UPPER, type: 'directory', mode: 0o755, uid: user, gid: user });
  archive.entry({ name: WORK, type: 'directory', mode: 0o700, uid: 0, gid: 0 });
  archive.finalize();
  const container = await docker.createContainer({
    Image: HALO_IMAGE,
    Labels: { 'dev.halo': 'folders' },
    HostConfig: {
      NetworkMode: 'none',
      Mounts: [{ Type: 'volume', Source: volume, Target: MOUNT, VolumeOptions: { NoCopy: true } as never }],
    },
  });
  try {
    const bytes = await readStream(archive as AsyncIterable<Buffer>, MAX_ARCHIVE_BYTES);
    await container.putArchive(bytes, { path: MOUNT });
  } finally {
    await removeLabelledResource(docker, { kind: 'container', name: container.id });
  }
}
