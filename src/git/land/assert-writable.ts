import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';

/** Folders to which landing writes. Those that are missing are created. */
const FOLDERS = ['objects', 'objects/pack', 'refs/heads', 'refs/heads/halo'];

const REASONS: Record<string, string> = { EACCES: 'permission denied', EROFS: 'the file system is read-only' };

/** Throws DISK_FAILED if no commit can land in a repository: the work of an agent would be lost. */
export async function assertWritable(gitDir: string): Promise<void> {
  for (const path of FOLDERS.map((folder) => join(gitDir, folder))) {
    const error = await access(path, constants.W_OK).catch((fault: NodeJS.ErrnoException) => fault);
    if (!(error instanceof Error) || error.code === 'ENOENT') continue;
    const why = REASONS[error.code ?? ''] ?? error.message;
    throw new HaloError('DISK_FAILED', `halo cannot write to ${path}, where the commits of the run land: ${why}.`, {
      hint: 'Give the user who runs halo write access to the repository.',
      cause: error,
    });
  }
}
