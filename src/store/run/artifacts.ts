import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Artifact } from '../../core/journal/event-parts.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { UnreadableFileError, readRegularFileEnd, readRegularFile, readStream } from '../../lib/fs.ts';
import { toDiskError, isMissing, withDiskErrors } from '../disk-errors.ts';
import {
  COMPRESSED,
  findContent,
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
    // If a file has two forms, the last one counts: see `findContent`.
    const rank = (path: string) => (path.endsWith(COMPRESSED) ? 0 : path.endsWith(PLACED) ? 2 : 1);
    paths.sort((a, b) => rank(a) - rank(b));
    const found = await Promise.all(paths.map((path) => describeFile(folder, path)));
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
  return read(paths, path, ({ path: real, isStored }) =>
    isStored ? readStream(readStored(real), MAX_BYTES) : readRegularFile(real, MAX_BYTES),
  );
}

/** Reads the last 64 KiB of such a file, whatever its size. Throws ARTIFACT_UNREADABLE. */
export function readArtifactEnd(paths: RunPaths, path: string): Promise<Buffer> {
  return read(paths, path, ({ path: real, isStored }) =>
    isStored ? endOf(real) : readRegularFileEnd(real, END_BYTES),
  );
}

/** Finds the content of such a file, whatever its size. Throws ARTIFACT_UNREADABLE. */
export function openArtifactFile(paths: RunPaths, path: string): Promise<StoredContent> {
  return read(paths, path, async (content) => {
    const file = await openRegular(content.path);
    await file.close();
    return content;
  });
}

/** Where such a file is or will be. Throws ARTIFACT_UNREADABLE. */
export function locateArtifact({ artifacts, bundle }: RunPaths, path: string): { folder: string; plain: string } {
  const [folder, below] = path.startsWith(BUNDLE) ? [bundle, path.slice(BUNDLE.length)] : [artifacts, path];
  const parts = below.split('/');
  if (parts.length > MAX_DEPTH || !parts.every((part) => NAME.test(part))) throw unreadable(path, 'does not exist');
  return { folder, plain: join(folder, ...parts) };
}

async function read<T>(paths: RunPaths, path: string, readReal: (content: StoredContent) => Promise<T>): Promise<T> {
  const { folder, plain } = locateArtifact(paths, path);
  for (let hasChanged = false; ;) {
    const content = (await findContent(plain)) ?? { path: plain, isStored: false };
    try {
      const [root, real] = await Promise.all([realpath(folder), realpath(content.path)]);
      if (real !== join(root, relative(folder, content.path))) throw unreadable(path, 'is a link');
      return await readReal({ ...content, path: real });
    } catch (error) {
      if (error instanceof HaloError) throw error;
      if (error instanceof UnreadableFileError) throw unreadable(path, `is not served: ${error.message}`);
      if ((error as NodeJS.ErrnoException).code === 'EISDIR') throw unreadable(path, 'is a folder');
      if (!isMissing(error)) throw toDiskError(content.path, error);
      // It may have been replaced since it was found.
      if (hasChanged || content.bytes === undefined) throw unreadable(path, 'does not exist');
      hasChanged = true;
    }
  }
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
