import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { withLock } from '../../lib/lock.ts';
import { ensureBaseImage } from './image-base.ts';
import { buildFromContext, RECIPE_LABEL } from './image-build.ts';
import { fetchPackage } from './image-packages.ts';
import { readSandboxRecipe, SANDBOX_DIR, type SandboxRecipe } from './image-recipe.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { TRUSTED_IMAGE } from './trusted-image.ts';

export interface BuildOptions {
  docker?: Docker;
  /** Takes progress, one line a call. */
  log: (line: string) => void;
  /** Build although the image is current, without any cache of earlier builds. */
  force?: boolean;
  /** Folder that keeps downloaded packages between builds. */
  cacheDir?: string;
}

export type ImageStatus = 'current' | 'outdated' | 'missing';

/**
 * Makes `halo-sandbox` of this version's recipe, unless it is there already; answers with the image's id.
 * Throws DOCKER_UNAVAILABLE, IMAGE_BUILD_FAILED.
 */
export async function buildSandboxImage(options: BuildOptions): Promise<string> {
  const docker = options.docker ?? new Docker();
  const cacheDir = options.cacheDir ?? join(homedir(), '.cache', 'halo', 'packages');
  const recipe = await readSandboxRecipe();
  const found = await findImage(docker, TRUSTED_IMAGE);
  if (found?.recipe === recipe.hash && !options.force) return found.id;
  await mkdir(cacheDir, { recursive: true });
  return withLock(join(cacheDir, '.lock'), () => build(docker, recipe, { ...options, cacheDir }), { waitMs: BUILD_MS });
}

/** Most time that another process's build is waited for. */
const BUILD_MS = 1_800_000;

async function build(
  docker: Docker,
  recipe: SandboxRecipe,
  options: BuildOptions & { cacheDir: string },
): Promise<string> {
  const before = await findImage(docker, TRUSTED_IMAGE);
  if (before?.recipe === recipe.hash && !options.force) return before.id;
  const base = await ensureBaseImage(docker, recipe.debian, options.log);
  const context = await mkdtemp(join(tmpdir(), 'halo-image-'));
  try {
    await fillContext(context, recipe, options);
    await buildFromContext(docker, {
      context,
      image: TRUSTED_IMAGE,
      recipe: recipe.hash,
      args: { BASE: base, PACKAGES: recipe.debian.join(' ') },
      ...options,
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  const after = await findImage(docker, TRUSTED_IMAGE);
  if (before !== undefined && before.id !== after?.id) await removeUnused(docker, before.id);
  return after?.id ?? '';
}

/** Whether the sandbox image is there, and of this version's recipe. Throws DOCKER_UNAVAILABLE. */
export async function sandboxImageStatus(docker: Docker = new Docker()): Promise<ImageStatus> {
  const [recipe, found] = await Promise.all([readSandboxRecipe(), findImage(docker, TRUSTED_IMAGE)]);
  if (found === undefined) return 'missing';
  return found.recipe === recipe.hash ? 'current' : 'outdated';
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

/** The sources and the packages, as links: they are read once, when the context is sent. */
async function fillContext(
  context: string,
  recipe: SandboxRecipe,
  options: BuildOptions & { cacheDir: string },
): Promise<void> {
  for (const file of recipe.sources) await symlink(join(SANDBOX_DIR, file), join(context, file));
  for (const wanted of recipe.npm) {
    await symlink(await fetchPackage(wanted, options.cacheDir, options.log), join(context, wanted.file));
  }
}
