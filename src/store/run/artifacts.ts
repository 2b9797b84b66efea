import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { Artifact } from '../../core/journal/events.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { UnreadableFileError, readRegularFileEnd, readRegularFile, readStream } from '../../lib/fs.ts';
import { toDiskError, isMissing, withDiskErrors } from '../disk-errors.ts';
import {
  findStored,
  openRegular,
  PLACED,
  plainName,
  readStored,
  sizeBefore,
  type StoredContent,
} from './stored-file.ts';
import type { RunPaths } from '../run-layout.ts';

/** Larger files are not read, because a file is read into memory as a whole. */
const MAX_BYTES = 16 * 1024 * 1024;
const END_BYTES = 64 * 1024;
const MAX_DEPTH = 6;
const MAX_FILES = 20_000;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/** The path prefix of the debug bundle. Story keys contain no underscore, so it cannot be a story. */
const BUNDLE = 'debug_bundle/';

/** Lists the artifacts of all attempts and the debug bundle, sorted by path, without links and other special files. */
export async function listArtifacts({ artifacts, bundle }: RunPaths): Promise<Artifact[]> {
  const fromAttempts = await listFolder(artifacts);
  const fromBundle = await listFolder(bundle);
  const all = [...fromAttempts, ...fromBundle.map((file) => ({ ...file, path: `${BUNDLE}${file.path}` }))];
  return all.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function listFolder(folder: string): Promise<Artifact[]> {
  return withDiskErrors(folder, async () => {
    const paths: string[] = [];
    await collect(folder, [], paths);
    const found = await Promise.all(paths.map((path) => describeFile(folder, path)));
    // Both forms exist for a moment while a file is being compressed.
    return [...new Map(found.flatMap((file) => (file === undefined ? [] : [[file.path, file]]))).values()];
  });
}

async function collect(folder: string, parts: string[], paths: string[]): Promise<void> {
  const entries = await readdir(join(folder, ...parts), { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    if (!NAME.test(entry.name) || paths.length >= MAX_FILES) continue;
    const path = [...parts, entry.name];
    if (entry.isFile()) paths.push(path.join('/'));
    else if (entry.isDirectory() && path.length < MAX_DEPTH) await collect(folder, path, paths);
  }
}

async function describeFile(folder: string, path: string): Promise<Artifact | undefined> {
  const found = await stat(join(folder, path)).catch(() => undefined);
  if (found === undefined) return undefined;
  const parts = path.split('/');
  const name = plainName(parts.at(-1) ?? '');
  if (name === undefined) return undefined;
  const plain = [...parts.slice(0, -1), name].join('/');
  const bytes = plain === path ? found.size : await sizeBefore(join(folder, path)).catch(() => 0);
  return { path: plain, bytes, changedAt: found.mtime.toISOString() };
}

/**
 * Reads a file below artifacts/ or, when the path starts with it, debug_bundle/. Only plain names are accepted, links
 * are not followed, and only regular files of at most 16 MiB are read. Throws ARTIFACT_UNREADABLE.
 */
export function readArtifactFile(paths: RunPaths, path: string): Promise<Buffer> {
  return read(paths, path, async (real) =>
    isCompressed(real, path) ? readStream(readStored(real), MAX_BYTES) : readRegularFile(real, MAX_BYTES),
  );
}

/** Reads the last 64 KiB of such a file, whatever its size. Throws ARTIFACT_UNREADABLE. */
export function readArtifactEnd(paths: RunPaths, path: string): Promise<Buffer> {
  return read(paths, path, async (real) =>
    isCompressed(real, path) ? endOf(real) : readRegularFileEnd(real, END_BYTES),
  );
}

/** Finds the content of such a file, whatever its size. Throws ARTIFACT_UNREADABLE. */
export function openArtifactFile(paths: RunPaths, path: string): Promise<StoredContent> {
  return read(paths, path, async (real) => {
    const file = await openRegular(real);
    const { size } = await file.stat().finally(() => file.close());
    return isCompressed(real, path) ? { path: real, isStored: true } : { path: real, isStored: false, bytes: size };
  });
}

/** Where such a file is or will be. Throws ARTIFACT_UNREADABLE. */
export function locateArtifact({ artifacts, bundle }: RunPaths, path: string): { folder: string; plain: string } {
  const [folder, below] = path.startsWith(BUNDLE) ? [bundle, path.slice(BUNDLE.length)] : [artifacts, path];
  const parts = below.split('/');
  if (parts.length > MAX_DEPTH || !parts.every((part) => NAME.test(part))) throw unreadable(path, 'does not exist');
  return { folder, plain: join(folder, ...parts) };
}

async function read<T>(paths: RunPaths, path: string, readReal: (real: string) => Promise<T>): Promise<T> {
  const { folder, plain } = locateArtifact(paths, path);
  const compressed = await lstat(plain).then(
    () => undefined,
    () => findStored(plain),
  );
  const place = compressed ?? plain;
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(place)]);
    if (real !== join(root, relative(folder, place))) throw unreadable(path, 'is a link');
    return await readReal(real);
  } catch (error) {
    if (error instanceof HaloError) throw error;
    if (error instanceof UnreadableFileError) throw unreadable(path, `is not served: ${error.message}`);
    // It may have been replaced since it was found.
    if (isMissing(error) && compressed === undefined && (await findStored(plain))) return read(paths, path, readReal);
    if (isMissing(error)) throw unreadable(path, 'does not exist');
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') throw unreadable(path, 'is a folder');
    throw toDiskError(place, error);
  }
}

function isCompressed(real: string, path: string): boolean {
  return basename(real) !== basename(path);
}

async function endOf(stored: string): Promise<Buffer> {
  let end = Buffer.alloc(0);
  const from = stored.endsWith(PLACED) ? (await sizeBefore(stored)) - END_BYTES : 0;
  for await (const chunk of readStored(stored, Math.max(0, from)))
    end = Buffer.concat([end, chunk]).subarray(-END_BYTES);
  return end;
}

function unreadable(path: string, why: string): HaloError {
  const shown = JSON.stringify(path.slice(0, 200));
  return new HaloError('ARTIFACT_UNREADABLE', `The file ${shown} of this run ${why}.`, {
    hint: 'List the files of the run with `GET /v1/runs/:id/artifacts`, or look into the run directory.',
  });
}
