import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { createFolders } from '../../../lib/fs.ts';
import { withLock } from '../../../lib/lock.ts';
import { ensureBaseImage } from './image-base.ts';
import { buildFromContext, RECIPE_LABEL } from './image-build.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';

export interface BuildOptions {
  docker?: Docker;
  /** Receives progress, one line per call. */
  log: (line: string) => void;
  /** Builds even if the image is current, without cache. */
  force?: boolean;
  /** Folder that keeps downloaded packages between builds. */
  cacheDir?: string;
}

export interface ImageDefinition {
  image: string;
  /** The image is current when it is labelled with the same recipe. */
  recipe: string;
  /** Further labels. */
  labels?: Record<string, string>;
  /** Names of Debian packages, given to the Dockerfile as PACKAGES. */
  debian: string[];
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
  const base = await ensureBaseImage(docker, options.log);
  const context = await mkdtemp(join(tmpdir(), 'halo-image-'));
  try {
    await plan.fill(context, options.cacheDir);
    const args = { BASE: base, PACKAGES: plan.debian.join(' ') };
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
