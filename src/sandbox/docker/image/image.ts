import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import Docker from 'dockerode';
import { ensureImage, findImage, type BuildOptions } from './ensure-image.ts';
import { fetchPackage, HALO_IMAGE, readSandboxRecipe, SANDBOX_DIR } from './image-recipe.ts';

type ImageStatus = 'current' | 'outdated' | 'missing';

/**
 * Builds `halo-sandbox` from this version's recipe unless it is current. Returns the image's id.
 * Throws DOCKER_UNAVAILABLE, IMAGE_BUILD_FAILED.
 */
export async function buildSandboxImage(options: BuildOptions): Promise<string> {
  const recipe = await readSandboxRecipe();
  const fill = async (context: string, cacheDir: string): Promise<void> => {
    // Links, because the files are only read when the context is sent.
    for (const file of recipe.sources) await symlink(join(SANDBOX_DIR, file), join(context, file));
    for (const wanted of recipe.npm) {
      await symlink(await fetchPackage(wanted, cacheDir, options.log), join(context, wanted.file));
    }
  };
  const { hash, debian, labels } = recipe;
  return ensureImage({ image: HALO_IMAGE, recipe: hash, debian, labels, fill }, options);
}

/** Returns whether the sandbox image exists and matches this version's recipe. Throws DOCKER_UNAVAILABLE. */
export async function sandboxImageStatus(docker: Docker = new Docker()): Promise<ImageStatus> {
  const [recipe, found] = await Promise.all([readSandboxRecipe(), findImage(docker, HALO_IMAGE)]);
  if (found === undefined) return 'missing';
  return found.recipe === recipe.hash ? 'current' : 'outdated';
}
