import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execa } from '../../../lib/execa.ts';
import { createFolders } from '../../../lib/fs.ts';
import { HaloError } from '../../../core/failure/errors.ts';

export interface NpmPackage {
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
