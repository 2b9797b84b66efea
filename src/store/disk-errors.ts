import { findOpenFilesError, HaloError, toHaloError } from '../core/failure/errors.ts';
import { LockBusyError } from '../lib/lock.ts';

/** Runs disk work and turns file system errors into DISK_FAILED with the path. Other errors pass unchanged. */
export async function withDiskErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toDiskError(path, error);
  }
}

/** Converts a file system error to DISK_FAILED. Returns any other error unchanged. */
export function toDiskError(path: string, error: unknown): unknown {
  if (error instanceof LockBusyError) {
    const hint = `Check what process ${error.owner} is doing. halo continues when that process exits.`;
    return new HaloError('DISK_FAILED', `Could not write ${path}: ${error.message}.`, { hint, cause: error });
  }
  const code = errnoOf(error);
  if (code === undefined || error instanceof HaloError) return error;
  const openFiles = findOpenFilesError(error);
  if (openFiles !== undefined) return openFiles;
  const { syscall, path: found, dest } = error as NodeJS.ErrnoException & { dest?: string };
  // The path of a link is its target.
  const at = (syscall === 'symlink' ? dest : found) ?? path;
  const { what, hint } = REASONS[code] ?? {
    what: `the system returned ${code}`,
    hint: 'Check the disk, then try again.',
  };
  return new HaloError('DISK_FAILED', `Could not read or write ${at}: ${what}.`, { hint, cause: error });
}

/** Whether the error means that the file or folder does not exist. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** For `catch`: undefined for a file or folder that does not exist. Throws any other error. */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** Whether the error came from the file system. */
export function isDiskError(error: unknown): boolean {
  return errnoOf(error) !== undefined || (error instanceof HaloError && error.code === 'DISK_FAILED');
}

/** What is read of a run; undefined if the run was removed or is damaged. Throws faults of the disk: those may pass. */
export async function ofIntactRun<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const { code } = toHaloError(error);
    if (code === 'RUN_NOT_FOUND' || code === 'RUN_UNREADABLE') return undefined;
    throw error;
  }
}

const NO_PERMISSION = {
  what: 'permission denied',
  hint: 'Run halo as the user who owns HALO_HOME, or set HALO_HOME to a folder of your own.',
};

const REASONS: Record<string, { what: string; hint: string }> = {
  ENOSPC: { what: 'the disk is full', hint: 'Free disk space, then try again.' },
  EDQUOT: { what: 'the disk quota is used up', hint: 'Free disk space, then try again.' },
  EROFS: { what: 'the file system is read-only', hint: 'Set HALO_HOME to a writable folder.' },
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  ENOENT: { what: 'it does not exist', hint: 'Check that HALO_HOME points at the right folder.' },
  ENOTDIR: { what: 'a part of the path is not a folder', hint: 'Check that HALO_HOME points at the right folder.' },
};

function errnoOf(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  return typeof code === 'string' && typeof errno === 'number' ? code : undefined;
}
