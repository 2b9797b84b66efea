import { dirname } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { watchFolder } from '../journal/watch-files.ts';
import type { RunPaths } from '../run-layout.ts';
import { openArtifactFile, locateArtifact } from './artifacts.ts';
import type { LogReader } from './log-lines.ts';

interface LogPlaces {
  paths: RunPaths;
  logs: LogReader;
}

export interface FollowLogOptions {
  follow: boolean;
  signal?: AbortSignal;
}

/**
 * Yields the size of a log now and, with `follow`, each time that it has grown, until the signal aborts. A file that does
 * not exist yet is empty.
 * Throws ARTIFACT_UNREADABLE for a path that no file has.
 */
export async function* followLogSize(
  { paths, logs }: LogPlaces,
  path: string,
  { follow, signal }: FollowLogOptions,
): AsyncGenerator<{ lines: number; bytes: number }> {
  const { plain } = locateArtifact(paths, path);
  const watching = follow ? watchFolder(dirname(plain), signal) : undefined;
  try {
    let seen = -1;
    while (signal?.aborted !== true) {
      const size = await measure({ paths, logs }, path);
      if (size.bytes !== seen) yield size;
      seen = size.bytes;
      if (watching === undefined) return;
      await watching.changed();
    }
  } finally {
    watching?.close();
  }
}

async function measure({ paths, logs }: LogPlaces, path: string): Promise<{ lines: number; bytes: number }> {
  try {
    return await logs.measure(await openArtifactFile(paths, path));
  } catch (error) {
    if (error instanceof HaloError && error.code === 'ARTIFACT_UNREADABLE') return { lines: 0, bytes: 0 };
    throw error;
  }
}
