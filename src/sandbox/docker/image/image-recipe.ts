import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { arch } from 'node:process';
import { pipeline } from 'node:stream/promises';
import type Docker from 'dockerode';
import { z } from 'zod';
import { HaloError } from '../../../core/failure/errors.ts';
import { execa } from '../../../lib/execa.ts';
import { createFolders } from '../../../lib/fs.ts';
import { PACKAGE_ROOT } from '../../../lib/version.ts';
import { engineStatus, imageMissing, toDockerError } from '../docker-client.ts';

/** The `docker` folder of the package. */
export const DOCKER_DIR = join(PACKAGE_ROOT, 'docker');
export const SANDBOX_DIR = join(DOCKER_DIR, 'sandbox');

interface SandboxRecipe {
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
    .filter((name) => /^Dockerfile$|\.[ch]$|\.mjs$|-settings\.json$/.test(name))
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

interface NpmPackage {
  /** File name of its archive in the build context. */
  file: string;
  /** `name@version`, exact. */
  spec: string;
  /** The required checksum, as `sha512-<base64>`. */
  integrity: string;
}

/** Returns the path of the package's archive; fetches it with the machine's npm settings unless `cacheDir` has it. Throws IMAGE_BUILD_FAILED. */
export async function fetchPackage(wanted: NpmPackage, cacheDir: string, log: (line: string) => void): Promise<string> {
  const cached = join(cacheDir, `${wanted.spec.replace(/[^\w.-]+/g, '-')}.tgz`);
  if ((await integrityOf(cached)) === wanted.integrity) return cached;

  log(`fetching ${wanted.spec}`);
  await createFolders(cacheDir);
  const staging = await mkdtemp(join(cacheDir, '.fetch-'));
  try {
    await packInto(staging, wanted.spec);
    const [archive] = await readdir(staging);
    const got = join(staging, archive ?? '');
    if ((await integrityOf(got)) !== wanted.integrity) {
      throw new HaloError('IMAGE_BUILD_FAILED', `The package ${wanted.spec} does not match its recorded checksum.`, {
        hint: 'Check the npm registry of this machine; do not use the package.',
      });
    }
    await rename(got, cached);
    return cached;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function packInto(dir: string, spec: string): Promise<void> {
  try {
    await execa('npm', ['pack', spec, '--pack-destination', dir, '--ignore-scripts'], { cwd: dir });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    const reason = stderr?.split('\n').find((line) => line.startsWith('npm error')) ?? message.split('\n')[0];
    throw new HaloError('IMAGE_BUILD_FAILED', `npm could not fetch ${spec}: ${reason}.`, {
      hint: `Try \`npm pack ${spec}\`. Set a registry or proxy in .npmrc.`,
      cause: error,
    });
  }
}

async function integrityOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha512');
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return `sha512-${hash.digest('base64')}`;
}

/** halo's own image: prepares and exports workspaces, and is the default for all other phases. */
export const HALO_IMAGE = 'halo-sandbox';

/** The folder in that image with the agents, `wait` and `forward`; other images get it through a volume. */
export const TOOLS_DIR = '/opt/halo';

/** The folder with the program in the image of a version of an agent. */
export const PROGRAM_DIR = '/program';

/** Prefix of the labels with the versions of the programs in that image: `dev.halo.version.codex`. */
export const VERSION_LABEL = 'dev.halo.version';

/** Returns the version of a program in halo's image, which all other images share. Throws IMAGE_MISSING. */
export async function readToolVersion(docker: Docker, program: string): Promise<string | undefined> {
  const { Config } = await docker
    .getImage(HALO_IMAGE)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? imageMissing(HALO_IMAGE, error) : toDockerError(error, 'look for an image');
    });
  return (Config.Labels as Record<string, string> | null)?.[`${VERSION_LABEL}.${program}`];
}
