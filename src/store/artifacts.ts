import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Artifact } from '../core/artifact.ts';
import { HaloError } from '../core/failure/errors.ts';
import { FileRefused, readRegularFile } from '../lib/read-file.ts';
import { asDiskError, isMissing, onDisk } from './disk-errors.ts';
import type { RunPaths } from './run-layout.ts';

/** More of one file is not read: it would be in memory as a whole. */
const MOST_BYTES = 16 * 1024 * 1024;
const DEEPEST = 6;
const MOST_FILES = 20_000;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/** What attempts left, in the order of the paths; links and other special files are left out. */
export async function listArtifacts({ artifacts }: RunPaths): Promise<Artifact[]> {
  return onDisk(artifacts, async () => {
    const paths: string[] = [];
    await collect(artifacts, [], paths);
    const found = await Promise.all(paths.map((path) => describeFile(artifacts, path)));
    return found.filter((file) => file !== undefined).sort((a, b) => (a.path < b.path ? -1 : 1));
  });
}

async function collect(folder: string, parts: string[], paths: string[]): Promise<void> {
  const entries = await readdir(join(folder, ...parts), { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    if (!NAME.test(entry.name) || paths.length >= MOST_FILES) continue;
    const path = [...parts, entry.name];
    if (entry.isFile()) paths.push(path.join('/'));
    else if (entry.isDirectory() && path.length < DEEPEST) await collect(folder, path, paths);
  }
}

async function describeFile(folder: string, path: string): Promise<Artifact | undefined> {
  const found = await stat(join(folder, path)).catch(() => undefined);
  return found && { path, bytes: found.size, changedAt: found.mtime.toISOString() };
}

/**
 * A file below artifacts/. Only plain names lead there, no link is followed, and only regular files of at most 16 MiB
 * are read. Throws ARTIFACT_UNREADABLE.
 */
export async function readAnyArtifact({ artifacts }: RunPaths, path: string): Promise<Buffer> {
  const parts = path.split('/');
  if (parts.length > DEEPEST || !parts.every((part) => NAME.test(part))) throw unreadable(path, 'does not exist');
  const place = join(artifacts, ...parts);
  try {
    const [root, real] = await Promise.all([realpath(artifacts), realpath(place)]);
    if (real !== join(root, ...parts)) throw unreadable(path, 'is a link');
    return await readRegularFile(real, MOST_BYTES);
  } catch (error) {
    if (error instanceof HaloError) throw error;
    if (error instanceof FileRefused) throw unreadable(path, `is not served: ${error.message}`);
    if (isMissing(error)) throw unreadable(path, 'does not exist');
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') throw unreadable(path, 'is a folder');
    throw asDiskError(place, error);
  }
}

function unreadable(path: string, why: string): HaloError {
  const shown = JSON.stringify(path.slice(0, 200));
  return new HaloError('ARTIFACT_UNREADABLE', `The file ${shown} of this run ${why}.`, {
    hint: '`GET /v1/runs/:id/artifacts` lists the files of a run; the run directory has all of them.',
  });
}
