import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE, PRDS_FOLDER } from '../../core/prd/prd-names.ts';
import { isInside, pathExists } from '../../lib/fs.ts';

/** The folder of the named PRDs of the project around `cwd`, at the top of its repository. */
export async function resolvePrdsFolder(cwd: string): Promise<string> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await pathExists(join(folder, '.git'))) return join(folder, PRDS_FOLDER);
    if (folder === dirname(folder)) return join(cwd, PRDS_FOLDER);
  }
}

/** The names of all PRDs of the project, sorted. Links that lead out of the project are ignored. */
export async function listPrdNames(cwd: string): Promise<string[]> {
  return (await listPrdFolders(cwd)).map(({ name }) => name).filter(isPrdName);
}

/** Includes folders whose names are not valid for a PRD. */
export async function listPrdFolders(cwd: string): Promise<NamedPrd[]> {
  const folder = await resolvePrdsFolder(cwd);
  const names = (await readdir(folder).catch(() => [])).sort();
  const prds = names.map((name) => ({ name, path: join(folder, name, PRD_FILE) }));
  const root = dirname(dirname(folder));
  const there = await Promise.all(prds.map(async ({ path }) => (await pathExists(path)) && isInside(root, path)));
  return prds.filter((_prd, place) => there[place]);
}

/** The file of an existing PRD, or undefined. Throws USAGE for one behind a link out of the project. */
export async function findNamedPrd(cwd: string, name: string): Promise<string | undefined> {
  if (!isPrdName(name)) return undefined;
  const path = join(await resolvePrdsFolder(cwd), name, PRD_FILE);
  if (!(await pathExists(path))) return undefined;
  await assertInRepository(path, cwd);
  return path;
}

/** Links of a repository could make halo read and write anywhere. Throws USAGE if a path below it leads out of it. */
export async function assertInRepository(path: string, cwd: string): Promise<void> {
  const root = dirname(dirname(await resolvePrdsFolder(cwd)));
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
  const names = await listPrdNames(cwd);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  if (chosen !== undefined && names.includes(chosen))
    return { name: chosen, path: join(await resolvePrdsFolder(cwd), chosen, PRD_FILE) };
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
