import { currentDecision, type RunState, type StoryState } from '../../core/run/state.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import {
  isAncestor,
  isMergeEmpty,
  listStoriesBetween,
  listUnmergedRuns,
  type LandedStory,
} from '../../git/repository/unmerged-runs.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { ResolvedSubmission } from './resolve-submission.ts';

interface UnlandedQuery {
  store: JournalStore & RunCatalog;
  home: string;
  /** The mirror must have its base commit. */
  run: ResolvedSubmission;
  prd: Prd;
  prdPath: string;
  /** The run starts from its base in any case. */
  fromHead: boolean;
}

/** The base commit of a run, and warnings about it. */
interface StartingPoint {
  base: string;
  warnings: string[];
}

interface Unlanded {
  state: RunState;
  tip: string;
  /** Ids of stories that the base lacks. */
  stories: string[];
}

interface UnlandedRuns {
  /** Runs with stories that are done in the PRD, newest first. */
  done: Unlanded[];
  /** Runs with stories that the PRD no longer has. */
  gone: Unlanded[];
}

/** Maximum number of runs of a PRD to inspect, newest first. */
const MAX_RUNS = 50;

/**
 * Compares the stories that are done in the PRD with those that earlier runs landed on their branches. If the base lacks such
 * stories, the run starts from the branch that has all of them and the base, or with `fromHead` from the base and a warning.
 * Throws UNLANDED if there is no such branch, if it is not approved, or if no story is left to do.
 */
export async function resolveStartingPoint(query: UnlandedQuery): Promise<StartingPoint> {
  const { run, prd } = query;
  const { base } = run.repo;
  const { done: unlanded, gone } = await listUnlanded(query);
  const [newest] = unlanded;
  if (newest === undefined) return { base, warnings: await warnOfGone(gone, { ...query, base }) };
  const { runId } = newest.state;
  const what = `${listStories(unlanded)} done in ${query.prdPath}, but only on ${unlanded.map(({ state }) => `halo/${state.runId}`).join(', ')}`;
  const hasOpen = prd.stories.some(({ status }) => status === 'pending' || status === 'in_progress');
  if (query.fromHead && !hasOpen)
    throw new HaloError('UNLANDED', `${what}; nothing else is left to do, also with --from-head.`, {
      hint: `To do them again, remove their marks from ${query.prdPath}. To have that work, run \`halo land ${runId}\`.`,
    });
  if (query.fromHead) return { base, warnings: [`${what}: this run starts without that work (--from-head).`] };
  if (!hasOpen)
    throw new HaloError('UNLANDED', `${what}; nothing else is left to do.`, {
      hint: `Run \`halo land ${runId}\`, or merge halo/${runId} if your branch has moved.`,
    });
  const gitDir = branchesOf(query);
  const older = [base, ...unlanded.map(({ tip }) => tip)];
  const follows = await Promise.all(older.map((commit) => isAncestor(gitDir, commit, newest.tip)));
  if (!isApproved(newest.state) || follows.includes(false)) {
    const why = follows.includes(false) ? 'which cannot be continued from this commit' : 'which is not approved';
    // Only a branch without commits of its own can be fast-forwarded.
    const land = follows[0] === false ? `Merge it (\`git merge halo/${runId}\`)` : `Land it (\`halo land ${runId}\`)`;
    throw new HaloError('UNLANDED', `${what}, ${why}.`, {
      hint: `${land}, continue that run (\`halo run --resume ${runId}\`), or pass --from-head: the new run then lacks these stories and does not do them again. If your branch already has its changes, delete halo/${runId}.`,
    });
  }
  const text = `${what}: this run continues from there; \`halo land\` of it takes over both (--from-head starts without it).`;
  return { base: newest.tip, warnings: [text, ...(await warnOfGone(gone, { ...query, base: newest.tip }))] };
}

async function warnOfGone(gone: Unlanded[], query: UnlandedQuery & { base: string }): Promise<string[]> {
  const gitDir = branchesOf(query);
  const texts = gone.map(async (run) => {
    if (await isAncestor(gitDir, run.tip, query.base)) return [];
    const { runId } = run.state;
    return [
      `${listStories([run])} only on halo/${runId}, and ${query.prdPath} no longer has a story with that id or title: this run starts without that work (take it over first with \`halo land ${runId}\`, or delete the branch).`,
    ];
  });
  return (await Promise.all(texts)).flat();
}

/** Earlier runs of the PRD, or of the same stories in another file, with stories that the base lacks. */
async function listUnlanded({ store, home, run, prd, prdPath }: UnlandedQuery): Promise<UnlandedRuns> {
  const found: UnlandedRuns = { done: [], gone: [] };
  if (!prd.stories.some(({ status }) => status === 'done')) return found;
  const { base, mirror } = run.repo;
  const mirrorDir = mirrorPath(home, mirror);
  const gitDir = branchesOf({ home, run });
  const branches = await listUnmergedRuns(gitDir, base);
  for (const { runId, tip } of branches.sort((a, b) => (a.runId < b.runId ? 1 : -1)).slice(0, MAX_RUNS)) {
    const state = await store.readState(runId).catch(() => undefined);
    if (state === undefined || state.repo.mirror !== mirror) continue;
    const made = state.stories
      .filter(({ commit }) => commit !== undefined)
      .map((story) => ({ story, same: findSame(prd.stories, story, state.prdPath === prdPath) }));
    const done = made.filter(({ same }) => same.some(({ status }) => status === 'done'));
    const gone = state.prdPath === prdPath ? made.filter(({ same }) => same.length === 0) : [];
    const which = done.length > 0 ? done : gone;
    if (which.length === 0 || (await isMergeEmpty(mirrorDir, base, tip))) continue;
    const landed = await listStoriesBetween(gitDir, tip, base);
    const lacking = await withoutLanded(store, { state, stories: which.map(({ story }) => story), landed });
    if (lacking.length === 0) continue;
    (done.length > 0 ? found.done : found.gone).push({ state, tip, stories: lacking.map(({ id }) => id) });
  }
  return found;
}

/**
 * The stories of a run that the base lacks. It has those of which another run, or a copy of the commit, has landed since
 * the run left the history of the base: the user has started again, or has it from another person.
 */
async function withoutLanded(
  store: JournalStore,
  { state, stories, landed }: { state: RunState; stories: StoryState[]; landed: LandedStory[] },
): Promise<StoryState[]> {
  const isLanded = async (story: StoryState) => {
    for (const { runId, key, subject } of landed) {
      if (key !== story.key) continue;
      const other = runId === state.runId ? state : await store.readState(runId).catch(() => undefined);
      // The run of another home: equal ids may be accidental.
      if (other === undefined && subject.includes(story.title)) return true;
      const same = other?.stories.filter((each) => each.key === key) ?? [];
      if (findSame(same, story, other?.prdPath === state.prdPath).length > 0) return true;
    }
    return false;
  };
  const answers = await Promise.all(stories.map(isLanded));
  return stories.filter((_story, index) => !answers[index]);
}

/** In one file, the title identifies a story, because ids may depend on positions. In two files, equal ids may be accidental. */
function findSame<T extends Pick<Story, 'id' | 'title'>>(
  stories: readonly T[],
  { id, title }: StoryState,
  sameFile: boolean,
): T[] {
  const sameId = stories.filter((story) => story.id === id);
  if (!sameFile) return sameId.filter((story) => story.title === title);
  return [...sameId, ...stories.filter((story) => story.title === title)];
}

/** The repository with the branches of runs: the source, if it is on this machine, or else the mirror. */
function branchesOf({ home, run }: Pick<UnlandedQuery, 'home' | 'run'>): string {
  return isUrl(run.repo.source) ? mirrorPath(home, run.repo.mirror) : run.from;
}

function isApproved(state: RunState): boolean {
  const verdict = currentDecision(state)?.verdict;
  return verdict === 'approved' || (verdict === undefined && state.needsApproval !== true);
}

function listStories(unlanded: readonly Unlanded[]): string {
  const ids = [...new Set(unlanded.flatMap(({ stories }) => stories))];
  const named = ids.slice(0, 5).join(', ') + (ids.length > 5 ? ` and ${ids.length - 5} more` : '');
  return `${named} ${ids.length === 1 ? 'is' : 'are'}`;
}
