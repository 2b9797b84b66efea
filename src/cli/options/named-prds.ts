import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE, PRDS_FOLDER, PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import { isInside, pathExists } from '../../lib/fs.ts';

/** The folder in which named PRDs of the project around `cwd` are created, at the top of its repository. */
export async function resolvePrdsFolder(cwd: string): Promise<string> {
  return join(await resolveProject(cwd), PRDS_FOLDER);
}

async function resolveProject(cwd: string): Promise<string> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await pathExists(join(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

/** The names of all PRDs of the project, sorted. Links that lead out of the project are ignored. */
export async function listPrdNames(cwd: string): Promise<string[]> {
  return (await listPrdFolders(cwd)).map(({ name }) => name).filter(isPrdName);
}

/** Sorted by name, without PRDs that have the name of one in an earlier folder. Includes folders with other names. */
export async function listPrdFolders(cwd: string): Promise<NamedPrd[]> {
  const root = await resolveProject(cwd);
  const prds = new Map<string, NamedPrd>();
  for (const folder of PRDS_FOLDERS)
    for (const name of await readdir(join(root, folder)).catch(() => [])) {
      const path = join(root, folder, name, PRD_FILE);
      if (!prds.has(name) && (await pathExists(path)) && (await isInside(root, path))) prds.set(name, { name, path });
    }
  return [...prds.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The file of an existing PRD, or undefined. Throws USAGE for one behind a link out of the project. */
export async function findNamedPrd(cwd: string, name: string): Promise<string | undefined> {
  if (!isPrdName(name)) return undefined;
  const root = await resolveProject(cwd);
  for (const folder of PRDS_FOLDERS) {
    const path = join(root, folder, name, PRD_FILE);
    if (!(await pathExists(path))) continue;
    await assertInRepository(path, cwd);
    return path;
  }
  return undefined;
}

/** Links of a repository could make halo read and write anywhere. Throws USAGE if a path below it leads out of it. */
export async function assertInRepository(path: string, cwd: string): Promise<void> {
  const root = await resolveProject(cwd);
  if (await isInside(root, path)) return;
  throw new HaloError('USAGE', `${path} is reached through a link that leads out of ${root}.`, {
    hint: 'Remove the link.',
  });
}

export interface NamedPrd {
  name: string;
  path: string;
}

/** The PRD of that name, by default the only one. Throws USAGE with the existing names. */
export async function requireNamedPrd(cwd: string, name: string | undefined): Promise<NamedPrd> {
  // Mentions that the name is that of a link.
  if (name !== undefined) await findNamedPrd(cwd, name);
  const prds = (await listPrdFolders(cwd)).filter((prd) => isPrdName(prd.name));
  const names = prds.map((prd) => prd.name);
  const found = prds.find((prd) => (name === undefined ? prds.length === 1 : prd.name === name));
  if (found !== undefined) return found;
  const hint =
    names.length === 0
      ? 'Create one with `halo prd new <name>`; `halo prd validate <file>` checks any PRD file.'
      : `Named PRDs: ${names.join(', ')}.`;
  if (name !== undefined) throw new HaloError('USAGE', `There is no PRD named ${JSON.stringify(name)}.`, { hint });
  throw new HaloError(
    'USAGE',
    names.length === 0 ? 'There are no named PRDs here.' : 'There are several named PRDs here: choose one.',
    {
      hint,
    },
  );
}
