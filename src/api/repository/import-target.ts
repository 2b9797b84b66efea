import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { leadsOut } from '../../lib/inside.ts';
import { readRegularFile } from '../../lib/read-file.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { replaceFile } from '../../worker/repository/replace-file.ts';

/** The file that an import writes. */
export interface ImportTarget {
  /** What it holds already. */
  before: Buffer | undefined;
  /** Writes the text, unless somebody has changed the file meanwhile. Throws PRD_UNREADABLE, DISK_FAILED. */
  save(text: string): Promise<void>;
}

/**
 * Looks at the file, an absolute path; `folder` is where the person is. Throws PRD_UNREADABLE when it could not be
 * written in the end, or is a link out of that folder.
 */
export async function openTarget(out: string, folder: string): Promise<ImportTarget> {
  await requireWritable(out);
  if (await leadsOut(folder, out)) throw isLink(out, folder);
  const before = await readIfThere(out);
  return { before, save: (text) => save(text, out, before) };
}

export function isLink(path: string, folder: string): HaloError {
  return new HaloError('PRD_UNREADABLE', `${path} is behind a link out of ${folder}.`, { hint: 'Remove the link.' });
}

/** Before an agent works on it for minutes, and is paid. */
async function requireWritable(out: string): Promise<void> {
  let place = out;
  while ((await stat(place).catch(() => undefined)) === undefined) place = dirname(place);
  const isFolder = (await stat(place)).isDirectory();
  const may = await access(place, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (may && isFolder === (place !== out)) return;
  const why = !may ? 'permission denied' : isFolder ? 'it is a folder' : `${place} is a file`;
  throw new HaloError('PRD_UNREADABLE', `${out} cannot be written: ${why}.`, { hint: 'Name another file with --out.' });
}

/** A new file, or the old one with its rights and links as they were. */
async function save(text: string, out: string, before: Uint8Array | undefined): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  const changed = (cause?: unknown) =>
    new HaloError('PRD_UNREADABLE', `${out} was changed by somebody else meanwhile; it stays as it is.`, {
      hint: 'Import the document again: the agent then begins with what is there now.',
      cause,
    });
  try {
    if (before !== undefined) {
      return await replaceFile(out, (now) => {
        if (Buffer.compare(now, before) !== 0) throw changed();
        return bytes;
      });
    }
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, bytes, { flag: 'wx' });
  } catch (error) {
    if (error instanceof HaloError) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOENT') throw changed(error);
    throw new HaloError('DISK_FAILED', `${out} cannot be written (${code}).`, { cause: error });
  }
}

/** Undefined where there is no such file. Throws PRD_UNREADABLE. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  return readRegularFile(path, MAX_PRD_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new HaloError('PRD_UNREADABLE', `${path} cannot be read (${error.code ?? error.message}).`, { cause: error });
  });
}
