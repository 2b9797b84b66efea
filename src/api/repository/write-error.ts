import { HaloError } from '../../core/failure/errors.ts';

/** Creates a `catch` handler for writes to `path`. Throws DISK_FAILED; rethrows a HaloError unchanged. */
export function cannotWrite(path: string): (error: unknown) => never {
  return (cause) => {
    if (cause instanceof HaloError) throw cause;
    const why = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new HaloError('DISK_FAILED', `${path} cannot be written (${why}).`, {
      hint: 'Check the path, its permissions and the free space on the disk.',
      cause,
    });
  };
}
