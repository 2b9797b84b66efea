import { HaloError } from '../core/failure/errors.ts';
import { LockBusyError } from '../lib/lock.ts';

/** Runs disk work; what the system refuses becomes DISK_FAILED with the path in it. Other errors pass. */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asDiskError(path, error);
  }
}

/** An error of the file system as DISK_FAILED; any other error as it is. */
export function asDiskError(path: string, error: unknown): unknown {
  if (error instanceof LockBusyError) {
    const hint = `Look at what process ${error.owner} is doing; halo goes on when it has ended.`;
    return new HaloError('DISK_FAILED', `Could not write ${path}: ${error.message}.`, { hint, cause: error });
  }
  const code = errnoOf(error);
  if (code === undefined || error instanceof HaloError) return error;
  const at = (error as NodeJS.ErrnoException).path ?? path;
  const { what, hint } = REASONS[code] ?? { what: `the system said ${code}`, hint: 'Check the disk, then try again.' };
  return new HaloError('DISK_FAILED', `Could not read or write ${at}: ${what}.`, { hint, cause: error });
}

/** Whether the error says that there is no such file or folder. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Whether the file system refused something. */
export function isDiskError(error: unknown): boolean {
  return errnoOf(error) !== undefined || (error instanceof HaloError && error.code === 'DISK_FAILED');
}

const NO_RIGHT = {
  what: 'permission denied',
  hint: 'Run halo as the user who owns HALO_HOME, or set HALO_HOME to a folder of your own.',
};

const REASONS: Record<string, { what: string; hint: string }> = {
  ENOSPC: { what: 'the disk is full', hint: 'Free some space, then try again.' },
  EDQUOT: { what: 'the disk quota is used up', hint: 'Free some space, then try again.' },
  EROFS: { what: 'the file system is read-only', hint: 'Set HALO_HOME to a folder that can be written.' },
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  ENOENT: { what: 'it is not there', hint: 'Check that HALO_HOME points at the right folder.' },
  ENOTDIR: { what: 'a part of the path is not a folder', hint: 'Check that HALO_HOME points at the right folder.' },
  EMFILE: { what: 'too many files are open', hint: 'Raise the limit of open files (ulimit -n).' },
};

function errnoOf(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  return typeof code === 'string' && typeof errno === 'number' ? code : undefined;
}
