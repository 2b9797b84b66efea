import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { arch } from 'node:process';
import { join } from 'node:path';
import { execa } from '../../../lib/execa.ts';
import { readIfExists } from '../../../lib/fs.ts';
import { PACKAGE_ROOT } from '../../../lib/version.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { ensureImage, type BuildOptions } from './ensure-image.ts';
import { DOCKER_DIR, fetchPackage, hashOf, readSandboxRecipe } from './image-recipe.ts';

export const SERVER_IMAGE = 'halo-server';
const DEBIAN = ['ca-certificates', 'git', 'redis-server'];

/**
 * Builds `halo-server`, the image of the services in compose.yaml: this installation of halo with Node, git and Redis.
 * In a checkout, build dist/ first. Throws DOCKER_UNAVAILABLE, IMAGE_BUILD_FAILED.
 */
export async function buildServerImage(options: BuildOptions): Promise<string> {
  const dockerfile = join(DOCKER_DIR, 'server', 'Dockerfile');
  const node = (await readSandboxRecipe()).npm.filter(({ file }) => file === 'node.tgz');
  const recipe = hashOf([await readFile(dockerfile, 'utf8'), DEBIAN, node, await hashOfHalo()]);
  const fill = async (context: string, cacheDir: string): Promise<void> => {
    await symlink(dockerfile, join(context, 'Dockerfile'));
    for (const wanted of node) {
      await symlink(await fetchPackage(wanted, cacheDir, options.log), join(context, wanted.file));
    }
    options.log('installing halo and its npm packages for the image');
    await installHalo(context);
  };
  return ensureImage({ image: SERVER_IMAGE, recipe, debian: DEBIAN, fill }, options);
}

async function hashOfHalo(): Promise<string> {
  const dist = join(PACKAGE_ROOT, 'dist');
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  // In a checkout, dist/ also has files of earlier builds. The list of the current ones is not in a package.
  const [, ...current] = ((await readIfExists(join(dist, '.sources'))) ?? '').split('\n');
  const isOld = ({ name, parentPath }: { name: string; parentPath: string }) =>
    current.length > 0 && parentPath === join(dist, 'chunks') && !current.includes(name);
  const files = entries.filter((entry) => entry.isFile() && /\.(js|lua)$/.test(entry.name) && !isOld(entry));
  const paths = [join(PACKAGE_ROOT, 'package.json'), ...files.map((file) => join(file.parentPath, file.name)).sort()];
  return hashOf(
    await Promise.all(paths.map(async (path) => [path.slice(PACKAGE_ROOT.length), await readFile(path, 'utf8')])),
  );
}

/** Installs halo with the host's npm and its settings, so that the image build needs no npm registry. */
async function installHalo(context: string): Promise<void> {
  const place = join(context, 'halo');
  await mkdir(place);
  await npm(['pack', PACKAGE_ROOT, '--ignore-scripts', '--pack-destination', context], context);
  const archive = (await readdir(context)).find((name) => name.startsWith('halo-') && name.endsWith('.tgz'));
  await rename(join(context, archive ?? ''), join(place, 'halo.tgz'));
  await writeFile(join(place, 'package.json'), '{ "private": true }\n');
  const target = ['--os=linux', `--cpu=${arch}`, '--libc=glibc'];
  await npm(['install', './halo.tgz', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...target], place);
}

async function npm(args: string[], cwd: string): Promise<void> {
  try {
    await execa('npm', args, { cwd });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new HaloError('IMAGE_BUILD_FAILED', `npm ${args[0]} failed: ${stderr?.trim() || message}`, {
      hint: 'Check the registry and the proxy in .npmrc.',
      cause: error,
    });
  }
}
