import type Docker from 'dockerode';
import { execa } from '../../../lib/execa.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';
import { followProgress } from './image-build.ts';
import { readSandboxRecipe } from './image-recipe.ts';

/** Built here, or provided by the user on a machine that cannot reach Debian. */
const BASE_IMAGE = 'halo-base:bookworm';
const PUBLIC_IMAGE = 'debian:bookworm-slim';

/**
 * Returns the name of a local Debian image: an existing one, else one bootstrapped from Debian's packages (including those
 * of the sandbox image), else the public one. Throws IMAGE_BUILD_FAILED, DOCKER_UNAVAILABLE.
 */
export async function ensureBaseImage(docker: Docker, log: (line: string) => void): Promise<string> {
  if (await hasImage(docker, BASE_IMAGE)) return BASE_IMAGE;
  const bootstrap = await tryBootstrap(docker, log);
  if (bootstrap === undefined) return BASE_IMAGE;

  if (await hasImage(docker, PUBLIC_IMAGE)) return PUBLIC_IMAGE;
  log(`mmdebstrap failed (${bootstrap}); pulling ${PUBLIC_IMAGE}`);
  const pull = await tryPull(docker);
  if (pull === undefined) return PUBLIC_IMAGE;

  throw new HaloError('IMAGE_BUILD_FAILED', `There is no Debian base image. mmdebstrap: ${bootstrap}; pull: ${pull}.`, {
    hint: `Install mmdebstrap (apt-get install mmdebstrap), or \`docker tag\` any Debian 12 image as ${BASE_IMAGE}.`,
  });
}

async function hasImage(docker: Docker, name: string): Promise<boolean> {
  try {
    await docker.getImage(name).inspect();
    return true;
  } catch (error) {
    if (engineStatus(error) === 404) return false;
    throw toDockerError(error, 'look for an image');
  }
}

/** Streams a system from mmdebstrap into the engine. Returns the reason when that fails. */
async function tryBootstrap(docker: Docker, log: (line: string) => void): Promise<string | undefined> {
  const version = await execa('mmdebstrap', ['--version'], { reject: false });
  if (version.failed) return 'not installed';
  log('building a Debian base image with mmdebstrap');
  const { debian } = await readSandboxRecipe();
  const args = ['--variant=minbase', `--include=${debian.join(',')}`, ...LEAVE_OUT, '--format=tar', 'bookworm', '-'];
  const child = execa('mmdebstrap', args, { buffer: { stdout: false }, reject: false });
  const [repo, tag] = BASE_IMAGE.split(':');
  const imported = docker.importImage(child.stdout, { repo, tag }).then((stream) => followProgress(docker, stream));
  const [result, fault] = await Promise.all([child, imported.then(() => undefined, toMessage)]);
  if (!result.failed && fault === undefined) return undefined;
  // Remove the incomplete image of a failed bootstrap.
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
