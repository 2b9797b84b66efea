import { cannotWrite } from './write-error.ts';
import { replaceFile } from '../../worker/repository/replace-file.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { createFolders, readRegularFile, escapesFolder } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { dirname, join } from 'node:path';
import { access, constants, mkdtemp, rmdir, stat, writeFile } from 'node:fs/promises';

/** The file that an import writes. */
interface ImportTarget {
  /** Its existing content. */
  before: Buffer | undefined;
  /** Writes the text, unless the file has changed since. Throws PRD_UNREADABLE, DISK_FAILED. */
  save(text: string): Promise<void>;
}

/**
 * Inspects the file, an absolute path; `folder` is the user's working folder. Throws PRD_UNREADABLE if the file could
 * not be written, or is a link out of that folder.
 */
export async function openTarget(out: string, folder: string): Promise<ImportTarget> {
  await assertWritable(out);
  if (await escapesFolder(folder, out)) throw linkError(out, folder);
  const before = await readTarget(out);
  return { before, save: (text) => save(text, out, before) };
}

export function linkError(path: string, folder: string): HaloError {
  return new HaloError('PRD_UNREADABLE', `${path} is reached through a link that leads out of ${folder}.`, {
    hint: 'Remove the link.',
  });
}

/** Called first, so that no agent is paid for a result that cannot be written. */
async function assertWritable(out: string): Promise<void> {
  let place = out;
  while ((await stat(place).catch(() => undefined)) === undefined) place = dirname(place);
  const isFolder = (await stat(place)).isDirectory();
  const may = await access(place, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (may && isFolder === (place !== out)) return isFolder ? assertMayCreate(out, place) : undefined;
  const why = !may ? 'permission denied' : isFolder ? 'it is a folder' : `${place} is a file`;
  throw new HaloError('PRD_UNREADABLE', `${out} cannot be written: ${why}.`, { hint: 'Name another file.' });
}

/** Some file systems, like that of /proc, refuse every new file, whatever the permissions say. */
async function assertMayCreate(out: string, folder: string): Promise<void> {
  try {
    await rmdir(await mkdtemp(join(folder, '.halo-')));
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new HaloError('PRD_UNREADABLE', `${out} cannot be written: no file can be created in ${folder} (${why}).`, {
      hint: 'Name another file.',
      cause,
    });
  }
}

/** A new file, or the existing one with its permissions and links unchanged. */
async function save(text: string, out: string, before: Uint8Array | undefined): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  const changed = (cause?: unknown) =>
    new HaloError('PRD_UNREADABLE', `${out} has changed in the meantime; it was not overwritten.`, {
      hint: 'Run the command again, to start from the changed file.',
      cause,
    });
  try {
    if (before !== undefined) {
      return await replaceFile(out, (now) => {
        if (Buffer.compare(now, before) !== 0) throw changed();
        return bytes;
      });
    }
    await createFolders(dirname(out));
    await writeFile(out, bytes, { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOENT') throw changed(error);
    cannotWrite(out)(error);
  }
}

/** Undefined if the file does not exist. Throws PRD_UNREADABLE. */
export async function readTarget(path: string): Promise<Buffer | undefined> {
  return readRegularFile(path, MAX_PRD_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new HaloError('PRD_UNREADABLE', `${path} cannot be read (${error.code ?? error.message}).`, { cause: error });
  });
}
