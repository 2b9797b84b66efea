import type Docker from 'dockerode';
import { execa } from 'execa';
import { HaloError } from '../../../core/failure/errors.ts';
import { engineStatus, fromDocker } from '../docker-errors.ts';
import { followProgress } from './image-build.ts';
import { readSandboxRecipe } from './image-recipe.ts';

/** Made here, or put there by the user for a machine without a way to Debian. */
const BASE_IMAGE = 'halo-base:bookworm';
const PUBLIC_IMAGE = 'debian:bookworm-slim';

/**
 * Name of a local image with Debian in it: the one that is there, else one bootstrapped from Debian's packages (with
 * those of the sandbox image in it already), else the public one. Throws IMAGE_BUILD_FAILED, DOCKER_UNAVAILABLE.
 */
export async function ensureBaseImage(docker: Docker, log: (line: string) => void): Promise<string> {
  if (await hasImage(docker, BASE_IMAGE)) return BASE_IMAGE;
  const bootstrap = await tryBootstrap(docker, log);
  if (bootstrap === undefined) return BASE_IMAGE;

  if (await hasImage(docker, PUBLIC_IMAGE)) return PUBLIC_IMAGE;
  log(`that did not work (${bootstrap}); pulling ${PUBLIC_IMAGE}`);
  const pull = await tryPull(docker);
  if (pull === undefined) return PUBLIC_IMAGE;

  throw new HaloError(
    'IMAGE_BUILD_FAILED',
    `there is no Debian image to build on: mmdebstrap: ${bootstrap}; pull: ${pull}`,
    { hint: `install mmdebstrap (apt-get install mmdebstrap), or \`docker tag\` any Debian 12 image as ${BASE_IMAGE}` },
  );
}

async function hasImage(docker: Docker, name: string): Promise<boolean> {
  try {
    await docker.getImage(name).inspect();
    return true;
  } catch (error) {
    if (engineStatus(error) === 404) return false;
    throw fromDocker(error, 'look for an image');
  }
}

/** undefined when it worked, else why it did not. The system goes straight from mmdebstrap into the engine. */
async function tryBootstrap(docker: Docker, log: (line: string) => void): Promise<string | undefined> {
  const version = await execa('mmdebstrap', ['--version'], { reject: false });
  if (version.failed) return 'not installed';
  log('making a Debian base image with mmdebstrap');
  const { debian } = await readSandboxRecipe();
  const args = ['--variant=minbase', `--include=${debian.join(',')}`, ...LEAVE_OUT, '--format=tar', 'bookworm', '-'];
  const child = execa('mmdebstrap', args, { buffer: { stdout: false }, reject: false });
  const [repo, tag] = BASE_IMAGE.split(':');
  const imported = docker.importImage(child.stdout, { repo, tag }).then((stream) => followProgress(docker, stream));
  const [result, fault] = await Promise.all([child, imported.then(() => undefined, toMessage)]);
  if (!result.failed && fault === undefined) return undefined;
  // What arrived of a failed bootstrap is no system.
  await docker
    .getImage(BASE_IMAGE)
    .remove({ force: true })
    .catch(() => undefined);
  return result.stderr.split('\n').findLast((line) => line.startsWith('E:')) ?? fault ?? toMessage(result);
}

const LEAVE_OUT = [
  ...['doc/*', 'man/*', 'info/*', 'locale/*'].map((path) => `--dpkgopt=path-exclude=/usr/share/${path}`),
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
];

async function tryPull(docker: Docker): Promise<string | undefined> {
  try {
    await followProgress(docker, await docker.pull(PUBLIC_IMAGE));
    return undefined;
  } catch (error) {
    return toMessage(error);
  }
}

function toMessage(error: unknown): string {
  return (error as { message?: string }).message?.split('\n')[0] ?? 'it failed';
}
