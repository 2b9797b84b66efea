import { decisionOn } from '../core/decision.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { Prd } from '../core/prd/prd.ts';
import type { RunState } from '../core/run-state.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import { isUrl } from '../git/repository/repo-url.ts';
import { addsNothing, isAncestor, listUnmergedRuns } from '../git/repository/unmerged-runs.ts';
import type { Store } from '../store/store.ts';
import type { PlannedRun } from './submit/plan-run.ts';

export interface UnlandedQuery {
  store: Store;
  home: string;
  /** Its base commit is in the mirror. */
  run: PlannedRun;
  prd: Prd;
  prdPath: string;
}

/** Where a run starts, and what to tell the person about it. */
export interface StartingPoint {
  base: string;
  warnings: string[];
}

interface Unlanded {
  state: RunState;
  tip: string;
  /** Ids of stories that the PRD calls done. */
  stories: string[];
}

/** Of the newest runs of a PRD, as many are looked at. */
const MAX_RUNS = 50;

/**
 * Compares what the PRD calls done with what earlier runs of it landed on branches of their own. Where the base lacks
 * such stories, the run starts from the branch that has them all and the base, too. Throws UNLANDED when there is no
 * such branch, when a person has not approved what is on it, or when no story is left to do.
 */
export async function findStartingPoint(query: UnlandedQuery): Promise<StartingPoint> {
  const { run, prd } = query;
  const { base } = run.repo;
  const unlanded = await listUnlanded(query);
  const [newest] = unlanded;
  if (newest === undefined) return { base, warnings: [] };
  const { runId } = newest.state;
  const what = `${listStories(unlanded)} done in ${query.prdPath}, but only on ${unlanded.map(({ state }) => `halo/${state.runId}`).join(', ')}`;
  if (!prd.stories.some(({ status }) => status === 'pending' || status === 'in_progress'))
    throw new HaloError('UNLANDED', `${what}; nothing else is left to do.`, {
      hint: `Take it over with \`halo land ${runId}\`.`,
    });
  const gitDir = branchesOf(query);
  const older = [base, ...unlanded.map(({ tip }) => tip)];
  const follows = await Promise.all(older.map((commit) => isAncestor(gitDir, commit, newest.tip)));
  if (!isApproved(newest.state) || follows.includes(false)) {
    const why = follows.includes(false) ? 'which cannot be continued from this commit' : 'which is not approved';
    throw new HaloError('UNLANDED', `${what}, ${why}.`, {
      hint: `Take it over (\`halo land ${runId}\` or a merge), continue that run (\`halo run --resume ${runId}\`), or start without it (--from-head). If your branch has its changes already, delete halo/${runId}.`,
    });
  }
  const text = `${what}: this run continues from there; \`halo land\` of it takes over both (--from-head starts without it).`;
  return { base: newest.tip, warnings: [text] };
}

/** Earlier runs of the PRD that have stories which the base lacks, newest first. */
async function listUnlanded({ store, home, run, prd, prdPath }: UnlandedQuery): Promise<Unlanded[]> {
  const done = new Set(prd.stories.filter(({ status }) => status === 'done').map(({ id }) => id));
  if (done.size === 0) return [];
  const { base, mirror } = run.repo;
  const mirrorDir = mirrorPath(home, mirror);
  const branches = await listUnmergedRuns(branchesOf({ home, run }), base);
  const found: Unlanded[] = [];
  for (const { runId, tip } of branches.sort((a, b) => (a.runId < b.runId ? 1 : -1)).slice(0, MAX_RUNS)) {
    const state = await store.readState(runId).catch(() => undefined);
    if (state?.prdPath !== prdPath || state.repo.mirror !== mirror) continue;
    const stories = state.stories.filter(({ id, commit }) => commit !== undefined && done.has(id)).map(({ id }) => id);
    if (stories.length > 0 && !(await addsNothing(mirrorDir, base, tip))) found.push({ state, tip, stories });
  }
  return found;
}

/** The repository that has the branches of runs: the source itself, where it is on this machine. */
function branchesOf({ home, run }: Pick<UnlandedQuery, 'home' | 'run'>): string {
  return isUrl(run.repo.source) ? mirrorPath(home, run.repo.mirror) : run.from;
}

function isApproved(state: RunState): boolean {
  const verdict = decisionOn(state)?.verdict;
  return verdict === 'approved' || (verdict === undefined && state.needsApproval !== true);
}

function listStories(unlanded: readonly Unlanded[]): string {
  const ids = [...new Set(unlanded.flatMap(({ stories }) => stories))];
  const named = ids.slice(0, 5).join(', ') + (ids.length > 5 ? ` and ${ids.length - 5} more` : '');
  return `${named} ${ids.length === 1 ? 'is' : 'are'}`;
}
