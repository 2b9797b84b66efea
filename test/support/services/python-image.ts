import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { ensureImage, findImage } from '../../../src/sandbox/docker/image/ensure-image.ts';
import { HALO_IMAGE } from '../../../src/sandbox/docker/image/image-recipe.ts';

const DOCKERFILE = join(import.meta.dirname, 'python', 'Dockerfile');
const DEBIAN = ['python3-pip', 'python3-venv'];

/** Builds the image that the docs advise for Python projects, unless it is current, and returns its name. */
export async function ensurePythonImage(): Promise<string> {
  const image = 'halo-test-python';
  const base = await findImage(new Docker(), HALO_IMAGE);
  const recipe = createHash('sha256')
    .update(JSON.stringify([base?.id, DEBIAN, readFileSync(DOCKERFILE, 'utf8')]))
    .digest('hex');
  const fill = (context: string) => {
    copyFileSync(DOCKERFILE, join(context, 'Dockerfile'));
    return Promise.resolve();
  };
  await ensureImage({ image, recipe, debian: DEBIAN, fill }, { log: () => undefined });
  return image;
}
