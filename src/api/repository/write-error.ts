import { HaloError } from '../../core/failure/errors.ts';

/** For the `catch` of what writes to `path`. Throws DISK_FAILED; an error of ours stays what it is. */
export function cannotWrite(path: string): (error: unknown) => never {
  return (cause) => {
    if (cause instanceof HaloError) throw cause;
    const why = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new HaloError('DISK_FAILED', `${path} cannot be written (${why}).`, {
      hint: 'Check what is there, its rights and the room on the disk.',
      cause,
    });
  };
}
