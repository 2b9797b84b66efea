import { createHash } from 'node:crypto';
import { git, gitText, tryGit } from '../process/git.ts';
import { assertObjectId, isObjectId } from '../process/git-output.ts';
import { readMirrorFormat } from './mirror.ts';

/** How many ancestors are searched. */
const MAX_ANCESTORS = 1_000;
const MEASURE_MS = 3_600_000;

/** Identifies the boundary of a shallow mirror; empty unless it is shallow. Objects of mirrors with other boundaries differ. */
export async function readBoundary(mirrorDir: string): Promise<string> {
  const { shallow } = await readMirrorFormat(mirrorDir);
  return shallow === undefined ? '' : `-${createHash('sha256').update(shallow).digest('hex').slice(0, 32)}`;
}

/** Finds the nearest of the `known` commits that is the commit or one of its ancestors. */
export async function findAncestor(
  mirrorDir: string,
  commit: string,
  known: ReadonlySet<string | undefined>,
): Promise<string | undefined> {
  if (known.size === 0) return undefined;
  const listed = await gitText(['rev-list', `--max-count=${MAX_ANCESTORS}`, commit], { gitDir: mirrorDir });
  return listed.split('\n').find((id) => known.has(id));
}

/** A common ancestor of two commits, the nearest one; undefined without one, or if the mirror lacks a commit. */
export async function findMergeBase(mirrorDir: string, commit: string, other: string): Promise<string | undefined> {
  const { stdout, exitCode } = await tryGit(['merge-base', commit, other], { gitDir: mirrorDir });
  const found = stdout.toString('latin1').trim();
  return exitCode === 0 && isObjectId(found) ? found : undefined;
}

interface History {
  gitDir: string;
  /** Commits and annotated tags. */
  wanted: readonly string[];
  /** These do not count, with all that they reach. */
  known: readonly string[];
}

/** About how many bytes the objects take that commits reach, as they are stored. Throws GIT_FAILED. */
export async function measureHistory({ gitDir, wanted, known }: History): Promise<number> {
  const args = ['rev-list', '--objects', '--disk-usage', '--use-bitmap-index', '--stdin'];
  const { stdout } = await git(args, { gitDir, input: revisions(wanted, known), timeoutMs: MEASURE_MS });
  return Number(stdout.toString('latin1').trim());
}

/** As git reads them. */
export function revisions(wanted: readonly string[], known: readonly string[]): string {
  for (const id of [...wanted, ...known]) assertObjectId(id, 'The commit');
  return `${[...wanted, ...known.map((id) => `^${id}`)].join('\n')}\n`;
}
