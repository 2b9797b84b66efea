import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import {
  access,
  open,
  readdir,
  readFile,
  rename,
  rm,
  link,
  mkdir,
  chmod,
  lstat,
  realpath,
  stat,
  type FileHandle,
} from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/**
 * Replaces a file atomically: readers see either the old or the new content. With `durable`, content and name are synced
 * to disk before this resolves.
 */
export async function writeAtomic(path: string, data: string | Uint8Array, durable = false): Promise<void> {
  const temp = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const file = await open(temp, 'wx', 0o600);
    try {
      await file.writeFile(data);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
    if (durable) await syncPath(dirname(path));
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

/** Errors of file systems that cannot sync a folder, such as some network and virtual machine file systems. */
const CANNOT_SYNC = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Syncs a file's content, or a folder's entries, to disk. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync().catch((error: NodeJS.ErrnoException) => {
      if (!CANNOT_SYNC.includes(error.code ?? '')) throw error;
    });
  } finally {
    await file.close();
  }
}

/**
 * The files and folders whose names are on disk: this process has synced the folder above them, and those above that. By
 * path; one that was replaced since has another identity.
 */
const named = new Map<string, string>();
const MAX_NAMED = 10_000;

/**
 * Syncs a file or folder, and the folders above it up to `top` that may not have its name, or that of the folder below, on
 * disk. Ignores paths that do not exist.
 */
export async function syncUpTo(path: string, top: string): Promise<void> {
  const synced: [string, string][] = [];
  for (let each = path; ; each = dirname(each)) {
    // Before the folder above is synced, which has this file or a newer one.
    const identity = await identityOf(each);
    await syncPath(each).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    });
    if (each === top || each === dirname(each) || (identity !== undefined && named.get(each) === identity)) break;
    if (identity !== undefined) synced.push([each, identity]);
  }
  if (named.size > MAX_NAMED) named.clear();
  for (const [each, identity] of synced) named.set(each, identity);
}

/** Identifies a file or folder, also after its number was used again; undefined if the file system cannot. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await lstat(path, { bigint: true }).catch(() => undefined);
  return found === undefined || found.birthtimeNs === 0n ? undefined : `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}

/**
 * Creates a file with mode 0600 unless it exists, and its folder if missing. If several processes try, one wins; readers
 * never see partial content. The file is synced to disk when this resolves.
 */
export async function createFileOnce(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  await createFolders(dirname(path), 0o700);
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(aside, path);
    await syncPath(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}

/**
 * Creates a folder and its missing parents with a mode. Node's own recursive mkdir never returns where a folder cannot be
 * created although its parent exists, as below /proc; this throws the error of the system.
 */
export async function createFolders(dir: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(dir, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(dir) !== dir) {
      await createFolders(dirname(dir), mode);
      return createFolder(dir, mode);
    }
    if (!(await isFolder(dir))) throw error;
  }
}

async function createFolder(dir: string, mode: number): Promise<void> {
  await mkdir(dir, { mode }).catch(async (error: unknown) => {
    if (!(await isFolder(dir))) throw error;
  });
}

/** Whether a path is a folder, or a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** Creates a folder with mode 0700 and its missing parents; sets the mode of an existing one. */
export async function ensurePrivateFolder(dir: string): Promise<void> {
  await createFolders(dir, 0o700);
  await chmod(dir, 0o700);
}

/** Whether a path, which need not exist, is inside a folder after following symbolic links. Dangling links are outside. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const [root, real] = await Promise.all([realpath(folder), resolveExisting(path)]);
  if (real === undefined) return false;
  const below = relative(root, real);
  return below !== '..' && !below.startsWith(`..${sep}`);
}

/** Whether a path that is textually inside a folder leaves it through a symbolic link. */
export async function escapesFolder(folder: string, path: string): Promise<boolean> {
  const below = relative(folder, path);
  const isTextuallyInside = below !== '..' && !below.startsWith(`..${sep}`);
  return isTextuallyInside && !(await isInside(folder, path));
}

/** Resolves the links of the existing part of a path; undefined if it ends at a dangling link. */
async function resolveExisting(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    if (await isLink(path)) return undefined;
    const parent = await resolveExisting(dirname(path));
    return parent === undefined ? undefined : join(parent, basename(path));
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;

/** A file that must not be read. Unlike system errors it has no code; the message completes a sentence. */
export class UnreadableFileError extends Error {}

/**
 * Reads an untrusted path: only a regular file (or a link to one) of at most `maxBytes` bytes, even if it grows while it
 * is read. Devices and pipes could be endless or block forever. Throws UnreadableFileError and file system errors.
 * `noLink`: a link is not followed.
 */
export async function readRegularFile(path: string, maxBytes: number, { noLink = false } = {}): Promise<Buffer> {
  // Checked before opening as well, because opening a device can have side effects.
  assertRegularFile(await (noLink ? lstat : stat)(path), maxBytes);
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (noLink ? O_NOFOLLOW : 0));
  try {
    const found = await file.stat();
    assertRegularFile(found, maxBytes);
    return await readAll(file, { size: found.size, maxBytes });
  } finally {
    await file.close();
  }
}

/** Reads the last `maxBytes` bytes of a regular file of any size. Throws like `readRegularFile`. */
export async function readRegularFileEnd(path: string, maxBytes: number): Promise<Buffer> {
  assertRegularFile(await stat(path), Infinity);
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const found = await file.stat();
    assertRegularFile(found, Infinity);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(maxBytes),
      0,
      maxBytes,
      Math.max(0, found.size - maxBytes),
    );
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Like `readRegularFile`, decoded as UTF-8. */
export async function readRegularText(path: string, maxBytes: number): Promise<string> {
  return (await readRegularFile(path, maxBytes)).toString('utf8');
}

/** Reads a stream of at most `maxBytes` bytes. Throws UnreadableFileError and the stream's errors. */
export async function readStream(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw tooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function assertRegularFile(found: Stats, maxBytes: number): void {
  if (found.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' });
  if (!found.isFile()) throw new UnreadableFileError('it is not a regular file');
  if (found.size > maxBytes) throw tooLargeError(maxBytes);
}

async function readAll(file: FileHandle, { size, maxBytes }: { size: number; maxBytes: number }): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for (let room = size + 1; ; room = 64 * 1024) {
    const part = Buffer.allocUnsafe(room);
    const { bytesRead } = await file.read(part, 0, room);
    if (bytesRead === 0) return Buffer.concat(parts, length);
    parts.push(part.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) throw tooLargeError(maxBytes);
  }
}

function tooLargeError(maxBytes: number): UnreadableFileError {
  return new UnreadableFileError(`it is larger than ${maxBytes} bytes`);
}

/** Whether a file or folder exists, symbolic links followed. Also false if it cannot be accessed. */
export async function pathExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Reads a text file; undefined if it does not exist. Throws other file system errors. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the names in a folder; none if it does not exist. Throws other file system errors. */
export async function readFolder(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * The program of this name in the first folder of `path`, which is as in the variable PATH; undefined if none has it.
 * Relative folders are below `cwd`; without it, they do not count.
 */
export async function findProgram(name: string, path = '', cwd?: string): Promise<string | undefined> {
  const folders = path
    .split(delimiter)
    .map((folder) => (cwd === undefined || folder === '' ? folder : resolve(cwd, folder)));
  for (const folder of folders)
    if (isAbsolute(folder) && (await isProgram(join(folder, name)))) return join(folder, name);
  return undefined;
}

/** Whether a path is a file that this process may execute. */
export async function isProgram(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return (
    found?.isFile() === true &&
    (await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ))
  );
}
