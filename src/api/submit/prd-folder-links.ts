import { lstat, realpath, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { folderOfNamedPrd, RUN_FILES } from '../../core/prd/prd-names.ts';

/**
 * Links the files of the newest run of a PRD into the folder of the PRD. Files that are not links are kept. Never throws,
 * because a run does not need the links.
 */
export async function linkRunFiles(prdPath: string, runFolder: string): Promise<void> {
  const folder = folderOfNamedPrd(await realpath(prdPath).catch(() => prdPath));
  if (folder === undefined) return;
  await Promise.all(RUN_FILES.map((file) => link(join(runFolder, file), join(folder, file)).catch(() => undefined)));
}

async function link(target: string, path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isSymbolicLink()) return;
  const fresh = `${path}.${process.pid}.tmp`;
  await symlink(target, fresh);
  await rename(fresh, path);
}
