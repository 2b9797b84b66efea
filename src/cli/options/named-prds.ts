import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE, PRDS_FOLDER } from '../../core/prd/prd-names.ts';
import { isInside } from '../../lib/inside.ts';

/** Where the named PRDs of the project around `cwd` are: at the top of its repository. */
export async function findPrdsFolder(cwd: string): Promise<string> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await exists(join(folder, '.git'))) return join(folder, PRDS_FOLDER);
    if (folder === dirname(folder)) return join(cwd, PRDS_FOLDER);
  }
}

/** The names of all PRDs of the project, sorted; what is behind a link out of it is none. */
export async function listPrdNames(cwd: string): Promise<string[]> {
  return (await listPrdFolders(cwd)).map(({ name }) => name).filter(isPrdName);
}

/** The same with those whose folders are called as no PRD can be. */
export async function listPrdFolders(cwd: string): Promise<NamedPrd[]> {
  const folder = await findPrdsFolder(cwd);
  const names = (await readdir(folder).catch(() => [])).sort();
  const prds = names.map((name) => ({ name, path: join(folder, name, PRD_FILE) }));
  const root = dirname(dirname(folder));
  const there = await Promise.all(prds.map(async ({ path }) => (await exists(path)) && isInside(root, path)));
  return prds.filter((_prd, place) => there[place]);
}

/** The file of a PRD that is there; undefined: none of that name is. Throws USAGE for one behind a link out of the project. */
export async function findNamedPrd(cwd: string, name: string): Promise<string | undefined> {
  if (!isPrdName(name)) return undefined;
  const path = join(await findPrdsFolder(cwd), name, PRD_FILE);
  if (!(await exists(path))) return undefined;
  await refuseOutside(path, cwd);
  return path;
}

/** Links of a repository could have halo read and write anywhere. Throws USAGE where a path below it leads out of it. */
export async function refuseOutside(path: string, cwd: string): Promise<void> {
  const root = dirname(dirname(await findPrdsFolder(cwd)));
  if (await isInside(root, path)) return;
  throw new HaloError('USAGE', `${path} is behind a link out of ${root}.`, { hint: 'Remove the link.' });
}

export interface NamedPrd {
  name: string;
  path: string;
}

/** The PRD of that name, by default the only one. Throws USAGE, which names those that are there. */
export async function requireNamedPrd(cwd: string, name: string | undefined): Promise<NamedPrd> {
  // It says so when the name is that of a link.
  if (name !== undefined) await findNamedPrd(cwd, name);
  const names = await listPrdNames(cwd);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  if (chosen !== undefined && names.includes(chosen))
    return { name: chosen, path: join(await findPrdsFolder(cwd), chosen, PRD_FILE) };
  const hint =
    names.length === 0
      ? '`halo prd new <name>` makes one.'
      : `There ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}.`;
  if (name !== undefined) throw new HaloError('USAGE', `There is no PRD ${JSON.stringify(name)}.`, { hint });
  throw new HaloError('USAGE', names.length === 0 ? 'There is no PRD here.' : 'Several PRDs are here: name one.', {
    hint,
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
