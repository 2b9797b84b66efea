import { withLock } from '../../lib/lock.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import type { RunPaths } from '../run-layout.ts';
import { runNotFound } from './load-run.ts';

/** Runs work while no other process appends to the run, or removes files of it. Throws RUN_NOT_FOUND. */
export async function lockRun<T>(paths: RunPaths, work: () => Promise<T>): Promise<T> {
  return withDiskErrors(paths.dir, () =>
    withLock(paths.lock, work).catch((error: unknown) => {
      throw isMissing(error) && (error as NodeJS.ErrnoException).syscall === 'symlink'
        ? runNotFound(paths, error)
        : error;
    }),
  );
}
