import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { isInside } from '../../lib/inside.ts';

/** Where tools keep the PRD of a repository, from its top. */
export const PRD_PLACES = [
  '.hank/IMPLEMENTATION_PLAN.md',
  'prd.json',
  'scripts/ralph/prd.json',
  '.halo/prd.json',
  'PRD.md',
  'prd.md',
  'IMPLEMENTATION_PLAN.md',
];

export interface PrdSearch {
  /** Path or URL of the repository. */
  repo: string;
  /** What a batch file calls it. */
  name?: string;
  /** How to name the PRD instead. */
  hint: string;
}

/** The path of the one PRD of a repository. Throws PRD_UNREADABLE when there is none, or more than one. */
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
  const found: string[] = [];
  const seen = new Set<number>();
  for (const place of PRD_PLACES) {
    const file = await stat(join(repo, place)).catch(() => undefined);
    // On disks that ignore case, two names are one file.
    if (file?.isFile() !== true || seen.has(file.ino) || !(await isInside(repo, join(repo, place)))) continue;
    seen.add(file.ino);
    found.push(place);
  }
  // A repository that hank manages keeps its plan there, whatever else lies about.
  const [first] = found;
  if (first !== undefined && (found.length === 1 || first.startsWith('.hank/'))) return join(repo, first);
  const what = first === undefined ? `has no PRD: ${PRD_PLACES.join(', ')}` : `has several PRDs: ${found.join(', ')}`;
  throw new HaloError('PRD_UNREADABLE', `${called} ${name === undefined ? repo : `(${repo})`} ${what}.`, { hint });
}
