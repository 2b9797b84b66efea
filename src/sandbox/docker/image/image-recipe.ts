import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { arch } from 'node:process';
import { join } from 'node:path';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../../../lib/version.ts';
import { VERSION_LABEL } from './halo-image.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { NpmPackage } from './image-packages.ts';

/** The `docker` folder of the package. */
export const DOCKER_DIR = join(PACKAGE_ROOT, 'docker');
export const SANDBOX_DIR = join(DOCKER_DIR, 'sandbox');

export interface SandboxRecipe {
  /** Changes whenever the content of the image changes. */
  hash: string;
  /** Names of the files in SANDBOX_DIR that go into the build. */
  sources: string[];
  /** Names of Debian packages. */
  debian: string[];
  npm: NpmPackage[];
  /** The version of each packed program, as `dev.halo.version.<program>`. */
  labels: Record<string, string>;
}

const Packages = z.object({
  debian: z.array(z.string()),
  npm: z.record(z.string(), z.array(z.object({ file: z.string(), spec: z.string(), integrity: z.string() }))),
});

/** Reads the recipe of this version's sandbox image for this machine's processor. Throws IMAGE_BUILD_FAILED. */
export async function readSandboxRecipe(): Promise<SandboxRecipe> {
  const packages = Packages.parse(JSON.parse(await readFile(join(SANDBOX_DIR, 'packages.json'), 'utf8')));
  const npm = packages.npm[arch];
  if (npm === undefined) {
    throw new HaloError('IMAGE_BUILD_FAILED', `There is no sandbox image for the processor type ${arch}.`, {
      hint: `Use a machine with one of these: ${Object.keys(packages.npm).join(', ')}.`,
    });
  }
  const sources = (await readdir(SANDBOX_DIR))
    .filter((name) => /^Dockerfile$|\.[ch]$|-settings\.json$/.test(name))
    .sort();
  const texts = await Promise.all(sources.map((name) => readFile(join(SANDBOX_DIR, name), 'utf8')));
  const labels = versionLabels(npm);
  return {
    hash: hashOf([sources, texts, packages.debian, npm, labels]),
    sources,
    debian: packages.debian,
    npm,
    labels,
  };
}

function versionLabels(npm: NpmPackage[]): Record<string, string> {
  return Object.fromEntries(
    npm.map(({ file, spec }) => [
      `${VERSION_LABEL}.${file.replace(/\.tgz$/, '')}`,
      /@(\d+\.\d+\.\d+)[^@]*$/.exec(spec)?.[1] ?? spec,
    ]),
  );
}

/** Hashes plain data. */
export function hashOf(data: unknown): string {
  return createHash('sha256').update(JSON.stringify(data)).digest('hex');
}
