import { lstat, realpath, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { folderOfNamedPrd, RUN_FILES } from '../../core/prd/prd-names.ts';

/**
 * Shows the files of a PRD's newest run in the PRD's own folder, by links, so that they are there from its first
 * moment and nothing is kept twice. What is no link stays: it is somebody's file. Never throws: a run does not need it.
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
