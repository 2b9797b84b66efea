import { MESSAGE_LOG_ARGS, readTrailers, STORY_KEY_TRAILER } from '../commit/commit-message.ts';
import { git, gitText, tryGit } from '../process/git.ts';
import { assertObjectId, splitNul } from '../process/git-output.ts';

/** A run branch whose tip is not part of another commit's history. */
interface UnmergedRun {
  runId: string;
  tip: string;
}

/** Where a run started. */
interface RunStart {
  runId: string;
  branch: string;
  base: string;
}

/** Lists the branches `halo/<runId>` that are not part of `commit`'s history, in no particular order. */
export async function listUnmergedRuns(gitDir: string, commit: string): Promise<UnmergedRun[]> {
  return listRunBranches(gitDir, 'no-merged', commit);
}

/** Lists the runs whose branches are part of `to`'s history; unless the commits are the same, without those in `from`'s. */
export async function listRunsBetween(gitDir: string, from: string, to: string): Promise<string[]> {
  const merged = await listRunBranches(gitDir, 'merged', to);
  const since = from === to ? merged : await listUnmergedRuns(gitDir, from);
  const runIds = new Set(since.map(({ runId }) => runId));
  return merged.map(({ runId }) => runId).filter((runId) => runIds.has(runId));
}

const MAX_COMMITS = 10_000;

/**
 * The runs that, by their trailers, made the commits of `to` that `from` lacks, whatever became of their branches, each with
 * these commits. Without `from`: those up to the first commit that no run made.
 */
export async function listRunsOfCommits(
  gitDir: string,
  { from, to }: { from: string | undefined; to: string },
): Promise<Map<string, string[]>> {
  const runs = new Map<string, string[]>();
  for (const { id, message } of await readMessages(gitDir, { from, to })) {
    const run = readTrailers(message).get('Halo-Run');
    if (run !== undefined) runs.set(run, [...(runs.get(run) ?? []), id]);
    else if (from === undefined) break;
  }
  return runs;
}

/** A story that, by the trailers of its commit, a run has landed. */
export interface LandedStory {
  runId: string;
  key: string;
  /** The first line of the commit message, which usually contains the title of the story. */
  subject: string;
}

/** The stories that, by their trailers, the commits of `to` contain that `from` lacks. */
export async function listStoriesBetween(gitDir: string, from: string, to: string): Promise<LandedStory[]> {
  const commits = await readMessages(gitDir, { from, to });
  return commits.flatMap(({ message }) => {
    const trailers = readTrailers(message);
    const [runId, key] = [trailers.get('Halo-Run'), trailers.get(STORY_KEY_TRAILER)];
    if (runId === undefined || key === undefined) return [];
    return [{ runId, key, subject: message.split('\n', 1).join() }];
  });
}

/** The commits of `to` that `from` lacks, newest first, with their messages. */
async function readMessages(
  gitDir: string,
  { from, to }: { from: string | undefined; to: string },
): Promise<{ id: string; message: string }[]> {
  assertObjectId(to, 'The commit');
  const range = from === undefined ? [to] : [to, '--not', from];
  const log = await git(['log', ...MESSAGE_LOG_ARGS, `--max-count=${MAX_COMMITS}`, ...range, '--'], { gitDir });
  return splitNul(log.stdout).map((entry) => ({
    id: entry.slice(0, to.length),
    message: entry.slice(to.length + 1),
  }));
}

async function listRunBranches(gitDir: string, which: 'merged' | 'no-merged', commit: string): Promise<UnmergedRun[]> {
  assertObjectId(commit, 'The commit');
  const format = '--format=%(refname:lstrip=3) %(objectname)';
  const text = await gitText(['for-each-ref', `--${which}=${commit}`, format, 'refs/heads/halo/'], { gitDir });
  return text.split('\n').flatMap((line) => {
    const [runId = '', tip = ''] = line.split(' ');
    return tip === '' ? [] : [{ runId, tip }];
  });
}

/** Whether `older` is in the history of `newer`. */
export async function isAncestor(gitDir: string, older: string, newer: string): Promise<boolean> {
  const { exitCode } = await git(['merge-base', '--is-ancestor', older, newer], { gitDir, ok: [0, 1] });
  return exitCode === 0;
}

/** How many commits a branch of a checkout has that neither `base` nor the branch of the run has; 0 if git cannot say. */
export async function countNewerCommits(root: string, { branch, base, runId }: RunStart): Promise<number> {
  assertObjectId(base, 'The base');
  const range = [`refs/heads/${branch}`, '--not', base, `--glob=refs/heads/halo/${runId}*`];
  const counted = await tryGit(['rev-list', '--count', ...range, '--'], { cwd: root, trust: 'operator' });
  return counted.exitCode === 0 ? Number(counted.stdout.toString('latin1')) : 0;
}

/** How many commits a branch has that `tip` lacks, if `tip` has commits that the branch lacks; 0 if git cannot say. */
export async function countDiverged(gitDir: string, { branch, tip }: { branch: string; tip: string }): Promise<number> {
  assertObjectId(tip, 'The commit to land');
  const args = ['rev-list', '--left-right', '--count', `refs/heads/${branch}...${tip}`, '--'];
  const counted = await tryGit(args, { gitDir });
  const [ahead = 0, behind = 0] =
    counted.exitCode === 0 ? counted.stdout.toString('latin1').split('\t').map(Number) : [];
  return behind === 0 ? 0 : ahead;
}

/**
 * Whether a merge of `other` into `commit` would change nothing, as after a squash merge. `mirrorDir` is one of halo's
 * own repositories, which configures no merge program. False where git (before 2.38) or a conflict leaves it open.
 */
export async function isMergeEmpty(mirrorDir: string, commit: string, other: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  assertObjectId(other, 'The other commit');
  const merged = await tryGit(['merge-tree', '--write-tree', '--no-messages', commit, other], { gitDir: mirrorDir });
  if (merged.exitCode !== 0) return false;
  return (
    merged.stdout.toString('latin1').trim() ===
    (await gitText(['rev-parse', `${commit}^{tree}`], { gitDir: mirrorDir }))
  );
}

/** Whether a branch other than those of halo's runs and pull requests has the commit in its history. False if the repository lacks it. */
export async function isOnOtherBranch(gitDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  const args = ['for-each-ref', '--format=%(refname)', `--contains=${commit}`, 'refs/heads', 'refs/remotes'];
  const found = await tryGit(args, { gitDir });
  if (found.exitCode !== 0) return false;
  const names = found.stdout.toString('utf8').split('\n');
  return names.some((name) => name !== '' && !/^refs\/(?:heads|remotes\/[^/]+)\/halo(?:-pr)?\//.test(name));
}
