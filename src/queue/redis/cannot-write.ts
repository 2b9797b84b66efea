import { HaloError } from '../../core/failure/errors.ts';

/** The error of a folder of the server that cannot be written to. Returns any other error of halo unchanged. */
export function cannotWrite(folder: string, error: unknown): HaloError {
  if (error instanceof HaloError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const why = isFull ? 'the disk has no space or no inodes left' : message;
  const hint = isFull ? 'Free disk space or remove files, then try again.' : 'Set HALO_HOME to a writable folder.';
  return new HaloError('DISK_FAILED', `Could not write to ${folder}: ${why}.`, { hint, cause: error });
}
