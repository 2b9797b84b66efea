import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE, PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { isInside } from '../../lib/fs.ts';

/** Paths where tools keep the PRD of a repository, relative to its top. */
export const PRD_PLACES = [
  '.hank/IMPLEMENTATION_PLAN.md',
  'prd.json',
  'scripts/ralph/prd.json',
  '.halo/prd.json',
  'PRD.md',
  'prd.md',
  'IMPLEMENTATION_PLAN.md',
];

interface PrdSearch {
  /** Path or URL of the repository. */
  repo: string;
  /** Its name in a batch file. */
  name?: string;
  /** How to name the PRD explicitly. */
  hint: string;
}

/**
 * The path of the only PRD in a usual place of a repository, else of the only named PRD. Throws PRD_UNREADABLE if there
 * is none or more than one.
 */
export async function discoverPrd({ repo, name, hint }: PrdSearch): Promise<string> {
  const called = name === undefined ? 'The repository' : `The repository ${name}`;
  if (isUrl(repo)) {
    throw new HaloError('PRD_UNREADABLE', `${called} is an address (${repo}): halo cannot look for its PRD there.`, {
      hint,
    });
  }
  if ((await stat(repo).catch(() => undefined))?.isDirectory() !== true) {
    throw new HaloError('NOT_A_GIT_REPO', `${called} is not a folder: ${repo}.`, {
      hint:
        name === undefined
          ? 'Check the path.'
          : 'Fix its path in the batch file; relative paths start at the folder of the file.',
    });
  }
  const usual = await filesAmong(PRD_PLACES, repo);
  const found = usual.length > 0 ? usual : await filesAmong(await namedPlaces(repo), repo);
  // A repository that hank manages has its plan there, so other files do not matter.
  const [first] = found;
  if (first !== undefined && (found.length === 1 || first.startsWith('.hank/'))) return join(repo, first);
  const what =
    first === undefined
      ? `has no PRD in a default path (${PRD_PLACES.join(', ')}) and no named PRD`
      : `has several PRDs: ${found.join(', ')}`;
  throw new HaloError('PRD_UNREADABLE', `${called} ${name === undefined ? repo : `(${repo})`} ${what}.`, { hint });
}

async function namedPlaces(repo: string): Promise<string[]> {
  const places = PRDS_FOLDERS.map(async (folder) => {
    const names = await readdir(join(repo, folder)).catch(() => []);
    return names
      .filter(isPrdName)
      .sort()
      .map((name) => join(folder, name, PRD_FILE));
  });
  return (await Promise.all(places)).flat();
}

async function filesAmong(places: string[], repo: string): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<number>();
  for (const place of places) {
    const file = await stat(join(repo, place)).catch(() => undefined);
    // On case-insensitive disks, two names can be one file.
    if (file?.isFile() !== true || seen.has(file.ino) || !(await isInside(repo, join(repo, place)))) continue;
    seen.add(file.ino);
    found.push(place);
  }
  return found;
}
