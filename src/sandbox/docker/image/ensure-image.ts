import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { withLock } from '../../../lib/lock.ts';
import { ensureBaseImage } from './image-base.ts';
import { buildFromContext, RECIPE_LABEL } from './image-build.ts';
import { engineStatus, fromDocker } from '../docker-errors.ts';

export interface BuildOptions {
  docker?: Docker;
  /** Takes progress, one line a call. */
  log: (line: string) => void;
  /** Build although the image is current, without any cache of earlier builds. */
  force?: boolean;
  /** Folder that keeps downloaded packages between builds. */
  cacheDir?: string;
}

export interface ImagePlan {
  image: string;
  /** The image is current when it is labelled with the same recipe. */
  recipe: string;
  /** Further labels. */
  labels?: Record<string, string>;
  /** Names of Debian packages, given to the Dockerfile as PACKAGES. */
  debian: string[];
  /** Puts the Dockerfile and what it needs into the folder. */
  fill: (context: string, cacheDir: string) => Promise<void>;
}

/** Most time that another process's build is waited for. */
const BUILD_MS = 1_800_000;

/** Builds an image of ours unless it is current; answers with its id. Throws DOCKER_UNAVAILABLE, IMAGE_BUILD_FAILED. */
export async function makeImage(plan: ImagePlan, options: BuildOptions): Promise<string> {
  const docker = options.docker ?? new Docker();
  const current = async (): Promise<string | undefined> => {
    const found = await findImage(docker, plan.image);
    return found?.recipe === plan.recipe && !options.force ? found.id : undefined;
  };
  const found = await current();
  if (found !== undefined) return found;
  const cacheDir = options.cacheDir ?? join(homedir(), '.cache', 'halo', 'packages');
  await mkdir(cacheDir, { recursive: true });
  const lock = join(cacheDir, '.lock');
  return withLock(lock, async () => (await current()) ?? build(plan, docker, { ...options, cacheDir }), {
    waitMs: BUILD_MS,
  });
}

async function build(plan: ImagePlan, docker: Docker, options: BuildOptions & { cacheDir: string }): Promise<string> {
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

/** Id and recipe of a local image. */
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
    throw fromDocker(error, 'look for an image');
  }
}

/** The predecessor goes, unless it has another name or a container still needs it. */
async function removeUnused(docker: Docker, id: string): Promise<void> {
  try {
    const image = docker.getImage(id);
    const { RepoTags } = await image.inspect();
    if (RepoTags.length === 0) await image.remove();
  } catch {
    // What stays costs disk space only.
  }
}
