import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import { assertConfirmed, landingChanges, unconfirmedChanges, type Confirmation } from '../../core/review/flags.ts';
import { assertAllowed, canLand, isApproved } from '../../core/run/actions.ts';
import type { LandedRun } from '../../core/run/control-result.ts';
import type { RunState } from '../../core/run/state.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { fastForward, pushFastForward } from '../../git/land/fast-forward.ts';
import { readRef } from '../../git/land/land-commit.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { listChanges } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { isAncestor, listRunsBetween, listRunsOfCommits } from '../../git/repository/unmerged-runs.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { isFolder } from '../../lib/fs.ts';
import { defined } from '../../lib/guards.ts';
import { isOfFolder } from '../../prd/folder/folder-text.ts';
import { filesOfPrd } from '../../prd/parse-prd.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { hostGitDirOf, inspectRunRepo } from '../repository/host-repository.ts';
import { findMarkedPrds, withoutPrdMarks } from '../repository/marked-prds.ts';
import { assertHasSettings } from './read-run.ts';
import { countWorkersFor } from './run-ownership.ts';

/**
 * Fast-forwards the branch that a run started from to what the run landed, in the user's repository. For a URL, pushes the
 * branch of the run or, with `land.push = "base"`, the branch that it started from. Without `by`, the configuration says
 * that it lands. Throws UNCONFIRMED, and LAND_REFUSED with the reason; then nothing has moved.
 */
export async function landRun(
  store: JournalStore,
  home: string,
  { runId, by, confirmation }: { runId: string; by?: string; confirmation?: Confirmation | undefined },
): Promise<LandedRun> {
  const state = await store.readState(runId);
  const { repo, tip, status } = state;
  if (status !== 'ended' && (await countWorkersFor(home, state)) === 0)
    throw new HaloError('LAND_REFUSED', `Run ${runId} has not ended.`, {
      hint: 'Start a worker with `halo worker`: none is running.',
    });
  assertAllowed(canLand(state, false));
  const { config } = await store.readRecord(runId);
  assertHasSettings(runId, config);
  assertAllowed(isApproved(state, { needsApproval: applyDefaults(config).approval.mode === 'run' }));
  const continued = state.landed === undefined ? await findContinuedRuns(store, home, state) : [];
  for (const other of continued) {
    const needsApproval = other.config.approval.mode === 'run';
    assertAllowed(isApproved(other.state, { needsApproval, continuedBy: runId }));
  }
  const changesOf = by === undefined ? unconfirmedChanges : landingChanges;
  const others = continued.map((other) => ({ runId: other.state.runId, changes: changesOf(other.state) }));
  if (state.landed === undefined)
    assertConfirmed({ verb: 'land', runId, commit: tip, changes: changesOf(state), continued: others }, confirmation);
  await failpoint('ff.before');
  const landed = isUrl(repo.source)
    ? await pushRun(home, state, applyDefaults(config).land)
    : await fastForwardCheckout(repo, state);
  await failpoint('ff.after');
  const { branch, from, to } = landed;
  const entry: LandedEntry = { type: 'run.landed', branch, from, to, ...defined({ by }) };
  await store.append(runId, [entry]);
  if (!isUrl(repo.source)) await recordLandedWith(store, repo, entry);
  return landed;
}

type LandedEntry = Extract<JournalEntry, { type: 'run.landed' }>;

/** Records that the runs whose results this one continued have landed with it. */
async function recordLandedWith(store: JournalStore, repo: RunRepo, entry: LandedEntry): Promise<void> {
  const { gitDir } = await inspectRunRepo(repo);
  for (const other of await listRunsBetween(gitDir, entry.from, entry.to)) {
    // A branch may be of a run of another home, or of one that was removed.
    const state = await store.readState(other).catch(() => undefined);
    const isLanded = state?.status !== 'ended' || state.landed !== undefined || state.repo.source !== repo.source;
    if (!isLanded) await store.append(other, [entry]);
  }
}

/** By default to the run's own branch, because the owners of the repository decide about their default branch. */
async function pushRun(home: string, { runId, repo, tip }: RunState, { push }: Config['land']): Promise<LandedRun> {
  const own = `halo/${runId}`;
  const branch = push === 'base' ? repo.branch : own;
  if (branch === undefined)
    throw new HaloError('LAND_REFUSED', `${repo.source} had no branch checked out when the run started.`, {
      hint: `Set \`[land] push = "branch"\` to push ${own} instead.`,
    });
  const mirrorDir = mirrorPath(home, repo.mirror);
  const otherwise = `Its commits are in a branch on the machine that keeps the run: git fetch ${printableShellWord(mirrorDir)} ${own}. Anywhere, \`halo diff ${runId} --raw | git apply --index\` applies them.`;
  await pushFastForward({ mirrorDir, url: repo.source, branch, commit: tip, alternative: otherwise });
  return { branch, from: repo.base, to: tip, pushedTo: repo.source };
}

interface RunToLand {
  runId: string;
  tip: string;
  prdPath: string;
  prdIsHere: boolean;
}

/** Changed PRDs do not prevent it, because halo marks passed stories in them and moves finished ones. */
async function fastForwardCheckout(repo: RunRepo, { runId, tip, prdPath, prdIsHere }: RunToLand): Promise<LandedRun> {
  const facts = await inspectRunRepo(repo);
  const { root, gitDir } = facts;
  const real = await realpath(prdPath).catch(() => prdPath);
  const path = relative(root, real);
  const names = await namesInFolder(real);
  const own = names === undefined ? [relative(root, prdPath), path].filter((each) => !each.startsWith('..')) : [];
  const { tracked } = await listChanges(root, [...PRDS_FOLDERS, ...own]);
  const tasks = names === undefined ? [] : tracked.filter((each) => isOfFolder(each, { folder: path, names }));
  const others = tracked.filter((each) => !tasks.includes(each));
  const except = [...PRDS_FOLDERS, ...own, ...tasks, ...(await findMarkedPrds(facts, others))];
  const land = () => fastForward({ root, gitDir, branch: repo.branch, to: tip, name: `halo/${runId}`, except });
  // If another branch is checked out, the PRD file stays as it is.
  if (!prdIsHere || facts.branch !== repo.branch || path.startsWith('..')) return land();
  const prds = names === undefined ? [path] : tasks;
  return prds.reduce<() => Promise<LandedRun>>(
    (next, each) => () => withoutPrdMarks({ facts, tip, path: each }, next),
    land,
  )();
}

/** The files of a folder that are its PRD; undefined if the PRD is a file. */
async function namesInFolder(path: string): Promise<string[] | undefined> {
  if (!(await isFolder(path))) return undefined;
  return readPrdSource(path)
    .then(filesOfPrd)
    .catch(() => []);
}

interface ContinuedRun {
  state: RunState;
  config: Config;
}

/** The other runs whose commits land with a run, because it started from their results. */
export async function findContinuedRuns(store: JournalStore, home: string, run: RunState): Promise<ContinuedRun[]> {
  const { runId, repo, tip } = run;
  const gitDir = await hostGitDirOf(home, repo);
  const { branch = '' } = repo;
  // What is on the branch of a run has not landed yet.
  const isOwn = !isUrl(repo.source) && !branch.startsWith('halo/');
  const from = isOwn ? await readRef(gitDir, `refs/heads/${branch}`) : undefined;
  const runs = await listRunsOfCommits(gitDir, { from, to: tip });
  runs.delete(runId);
  const found = await Promise.all(
    [...runs].map(([other, commits]) => readContinued({ store, home }, run, { runId: other, commits })),
  );
  return found.flatMap((each) => each ?? []);
}

/**
 * Undefined if it has landed, or is a run of another home or one that was removed. Anyone can write the trailer of a run of
 * another repository, but not its commits.
 */
async function readContinued(
  { store, home }: { store: JournalStore; home: string },
  { repo }: RunState,
  { runId, commits }: { runId: string; commits: readonly string[] },
): Promise<ContinuedRun | undefined> {
  const state = await store.readState(runId).catch((error: unknown) => {
    // Without its decisions, it must not land.
    if (error instanceof HaloError && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  });
  if (state === undefined || state.landed !== undefined) return undefined;
  const { pull, tip } = state;
  if (pull?.ended === 'merged' && pull.head === tip) return undefined;
  if (state.repo.mirror !== repo.mirror && !(await hasMade(home, state, commits))) return undefined;
  return { state, config: applyDefaults((await store.readRecord(runId)).config) };
}

/** Whether a run has one of these commits on its branch. A repository without the commit does not know it. */
async function hasMade(home: string, run: RunState, commits: readonly string[]): Promise<boolean> {
  const { repo, tip } = run;
  if (landingChanges(run).some(({ commit }) => commits.includes(commit))) return true;
  const mirrorDir = mirrorPath(home, repo.mirror);
  for (const commit of commits) if (await isAncestor(mirrorDir, commit, tip).catch(() => false)) return true;
  return false;
}
