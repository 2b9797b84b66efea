import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { pack } from 'tar-fs';
import { HaloError } from '../../../core/failure/errors.ts';
import { execa } from '../../../lib/execa.ts';
import { createFolders } from '../../../lib/fs.ts';
import { withLock } from '../../../lib/lock.ts';
import { engineStatus, toDockerError } from '../docker-client.ts';
import { readSandboxRecipe } from './image-recipe.ts';

export interface BuildOptions {
  docker?: Docker;
  /** Receives progress, one line per call. */
  log: (line: string) => void;
  /** Builds even if the image is current, without cache. */
  force?: boolean;
  /** Folder that keeps downloaded packages between builds. */
  cacheDir?: string;
}

interface ImageDefinition {
  image: string;
  /** The image is current when it is labelled with the same recipe. */
  recipe: string;
  /** Further labels. */
  labels?: Record<string, string>;
  /** Names of Debian packages, given to the Dockerfile as PACKAGES, with the image to begin with as BASE; absent: it uses neither. */
  debian?: string[];
  /** Adds the Dockerfile and the files that it needs to the context. */
  fill: (context: string, cacheDir: string) => Promise<void>;
}

/** Maximum wait for the build of another process. */
const BUILD_MS = 1_800_000;

/** Builds an image unless it is current. Returns its id. Throws DOCKER_UNAVAILABLE, IMAGE_BUILD_FAILED. */
export async function ensureImage(plan: ImageDefinition, options: BuildOptions): Promise<string> {
  const docker = options.docker ?? new Docker();
  const current = async (): Promise<string | undefined> => {
    const found = await findImage(docker, plan.image);
    return found?.recipe === plan.recipe && !options.force ? found.id : undefined;
  };
  const found = await current();
  if (found !== undefined) return found;
  const cacheDir = options.cacheDir ?? join(homedir(), '.cache', 'halo', 'packages');
  await createFolders(cacheDir);
  const lock = join(cacheDir, '.lock');
  return withLock(lock, async () => (await current()) ?? build(plan, docker, { ...options, cacheDir }), {
    waitMs: BUILD_MS,
  });
}

async function build(
  plan: ImageDefinition,
  docker: Docker,
  options: BuildOptions & { cacheDir: string },
): Promise<string> {
  const before = await findImage(docker, plan.image);
  const { debian } = plan;
  const args: Record<string, string> =
    debian === undefined ? {} : { BASE: await ensureBaseImage(docker, options.log), PACKAGES: debian.join(' ') };
  const context = await mkdtemp(join(tmpdir(), 'halo-image-'));
  try {
    await plan.fill(context, options.cacheDir);
    await buildFromContext(docker, {
      context,
      image: plan.image,
      recipe: plan.recipe,
      labels: plan.labels ?? {},
      args,
      ...options,
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  const after = await findImage(docker, plan.image);
  if (before !== undefined && before.id !== after?.id) await removeUnused(docker, before.id);
  return after?.id ?? '';
}

/** Returns the id and recipe of a local image, or undefined. */
export async function findImage(
  docker: Docker,
  name: string,
): Promise<{ id: string; recipe: string | undefined } | undefined> {
  try {
    const { Id, Config } = await docker.getImage(name).inspect();
    const labels = Config.Labels as Record<string, string> | null;
    return { id: Id, recipe: labels?.[RECIPE_LABEL] };
  } catch (error) {
    if (engineStatus(error) === 404) return undefined;
    throw toDockerError(error, 'look for an image');
  }
}

/** Removes the previous image unless it has another name or a container uses it. */
async function removeUnused(docker: Docker, id: string): Promise<void> {
  try {
    const image = docker.getImage(id);
    const { RepoTags } = await image.inspect();
    if (RepoTags.length === 0) await image.remove();
  } catch {
    // Ignore errors: an image that remains only costs disk space.
  }
}

/** Built here, or provided by the user on a machine that cannot reach Debian. */
const BASE_IMAGE = 'halo-base:bookworm';
const PUBLIC_IMAGE = 'debian:bookworm-slim';

/**
 * Returns the name of a local Debian image: an existing one, else one bootstrapped from Debian's packages (including those
 * of the sandbox image), else the public one. Throws IMAGE_BUILD_FAILED, DOCKER_UNAVAILABLE.
 */
async function ensureBaseImage(docker: Docker, log: (line: string) => void): Promise<string> {
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

/** Label with the hash of the recipe that an image was built from. */
export const RECIPE_LABEL = 'dev.halo.recipe';

interface ImageBuild {
  /** Folder with a Dockerfile; symbolic links are followed. */
  context: string;
  /** Name to give to the image. */
  image: string;
  recipe: string;
  labels: Record<string, string>;
  args: Record<string, string>;
  log: (line: string) => void;
  force?: boolean;
}

/** Builds and names an image. Throws IMAGE_BUILD_FAILED with the end of the output, DOCKER_UNAVAILABLE. */
async function buildFromContext(docker: Docker, build: ImageBuild): Promise<void> {
  build.log(`building the image ${build.image}`);
  const tail: string[] = [];
  try {
    // The types of tar-fs declare a different kind of stream.
    const context = pack(build.context, { dereference: true }) as unknown as NodeJS.ReadableStream;
    const output = await docker.buildImage(context, {
      t: build.image,
      buildargs: build.args,
      labels: { ...build.labels, [RECIPE_LABEL]: build.recipe },
      nocache: build.force ?? false,
      forcerm: true,
      // Uses the host's network: the build needs no bridge, NAT or DNS of the engine.
      networkmode: 'host',
    });
    await followProgress(docker, output, (text) => {
      for (const line of text.split('\n').filter((part) => part.trim() !== '')) {
        tail.splice(0, tail.length - 14);
        tail.push(line);
        if (line.startsWith('Step ')) build.log(line);
      }
    });
  } catch (error) {
    const ours = toDockerError(error, `build the image ${build.image}`);
    if (ours.code === 'DOCKER_UNAVAILABLE') throw ours;
    throw new HaloError('IMAGE_BUILD_FAILED', [ours.message, ...tail].join('\n  '), {
      hint: 'Read the end of the build output above. `halo image build --force` builds without cache.',
      cause: error,
    });
  }
}

/** Waits for the end of a build, pull or import. Throws errors reported in the stream. */
function followProgress(
  docker: Docker,
  output: NodeJS.ReadableStream,
  onText: (text: string) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: string | undefined;
    const onEvent = (event: { stream?: string; error?: string }): void => {
      failure ??= event.error;
      onText(event.stream ?? '');
    };
    const onEnd = (error: Error | null): void => {
      if (error) reject(error);
      else if (failure !== undefined) reject(new Error(failure));
      else resolve();
    };
    docker.modem.followProgress(output, onEnd, onEvent);
  });
}
