import { join } from 'node:path';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import {
  bytesThatStay,
  planRetention,
  type RetentionLimits,
  type RunRemoval,
  type RunSize,
} from '../core/retention.ts';
import { waitsForAnswer } from '../../../core/run/questions.ts';
import { currentDecision, type RunState } from '../../../core/run/state.ts';
import { releaseRun, repackHeld } from '../../../git/mirror/mirror-upkeep.ts';
import { mirrorPath } from '../../../git/mirror/mirror.ts';
import { isObjectId } from '../../../git/process/git-output.ts';
import { isUrl } from '../../../git/repository/repo-url.ts';
import { isOnOtherBranch } from '../../../git/repository/unmerged-runs.ts';
import { mapConcurrent } from '../../../lib/async.ts';
import { failpoint } from '../../../lib/failpoint.ts';
import { acquireLock, LockBusyError } from '../../../lib/lock.ts';
import { IssueReportFiles } from '../../../store/forge-files.ts';
import { OpenRuns } from '../../../store/open-runs.ts';
import { finishRemovals, measureRun, removeArtifacts, removeRun } from '../../../store/run/remove-run.ts';
import type { Store } from '../../../store/store.ts';
import { inspectRunRepo } from '../../../worker/repository/host-repository.ts';
import {
  findUnusedMirrors,
  finishMirrorRemovals,
  removeMirror,
  type FailedMirror,
  type UnusedMirror,
} from './unused-mirrors.ts';

/** What retention needs of this machine. */
export interface PruneContext {
  home: string;
  store: Pick<Store, 'runIds' | 'openRuns' | 'readState' | 'transact' | 'publishRuns'>;
  now: () => Date;
}

/** What the limits remove, and what they may not. Sizes are in bytes. */
interface PrunePlan {
  removals: RunRemoval[];
  mirrors: UnusedMirror[];
  /** Ended runs that stay whatever the limits are, with the reason as a clause. */
  kept: { runId: string; why: string }[];
  /** Runs that cannot be read; they stay. */
  unreadable: { runId: string; error: HaloError }[];
  /** The size of all runs. */
  runBytes: number;
  /** By how much the runs that must stay are larger than the maximum size of all runs; 0 if they are not. */
  excessBytes: number;
  /** How much of it the artifacts of ended runs are that nothing holds back. */
  artifactBytes: number;
}

/** What was removed, and what could not be. */
export interface PruneResult {
  plan: PrunePlan;
  removals: RunRemoval[];
  mirrors: UnusedMirror[];
  failed: { runId: string; error: HaloError }[];
  failedMirrors: FailedMirror[];
}

const MAX_READS = 8;

/** Finds what retention would remove; changes nothing. */
export async function planPrune({ home, store, now }: PruneContext, limits: RetentionLimits): Promise<PrunePlan> {
  const runs: IdentifiedRun[] = [];
  const sizes = new Map<string, Awaited<ReturnType<typeof measureRun>>>();
  const unreadable: PrunePlan['unreadable'] = [];
  await mapConcurrent(await store.runIds(), MAX_READS, async (runId) => {
    try {
      sizes.set(runId, await measureRun(home, runId));
      runs.push({ runId, state: await store.readState(runId) });
    } catch (error) {
      unreadable.push({ runId, error: toHaloError(error) });
    }
  });
  const kept = await findKeptRuns(home, runs);
  const sized = runs.map(({ runId, state }): RunSize => {
    const { artifacts, other } = sizes.get(runId) ?? { artifacts: 0, other: 0 };
    const keptBecause = kept.get(runId);
    return {
      runId,
      endedAt: endOf(state),
      artifactBytes: artifacts,
      otherBytes: other,
      ...(keptBecause !== undefined && { keptBecause }),
    };
  });
  const removals = planRetention(sized, limits, now());
  const ended = sized.filter(({ endedAt }) => endedAt !== undefined);
  return {
    removals,
    // An unreadable run may use any mirror.
    mirrors: unreadable.length > 0 ? [] : await findUnusedMirrors(home, usedMirrors(runs), now()),
    kept: ended.flatMap(({ runId, keptBecause: why }) => (why === undefined ? [] : [{ runId, why }])),
    unreadable,
    excessBytes: Math.max(0, bytesThatStay(sized) - (limits.maxBytes ?? Infinity)),
    runBytes: sized.reduce((sum, run) => sum + run.artifactBytes + run.otherBytes, 0),
    artifactBytes: ended.reduce((sum, run) => sum + (run.keptBecause === undefined ? run.artifactBytes : 0), 0),
  };
}

/**
 * Removes what the limits allow to remove, after the leftovers of an earlier removal that was interrupted. One process at a
 * time: throws CONTROL_REFUSED if another one is at it. Stops between two removals when `signal` aborts.
 */
export async function pruneHome(
  context: PruneContext,
  limits: RetentionLimits,
  { by, signal }: { by: string; signal?: AbortSignal | undefined },
): Promise<PruneResult> {
  const { home, store, now } = context;
  const lock = await lockHome(home);
  try {
    await store.publishRuns();
    const failed = await finishRemovals(home);
    const failedMirrors = await finishMirrorRemovals(home);
    const openBefore = new Set((await store.openRuns()).map(({ runId }) => runId));
    const plan = await planPrune(context, limits);
    const result: PruneResult = { plan, removals: [], mirrors: [], failed, failedMirrors };
    const released = new Set<string>();
    for (const removal of plan.removals) {
      if (signal?.aborted) break;
      try {
        const mirror = await remove(context, removal, { by, openBefore });
        if (mirror === undefined) continue;
        result.removals.push(removal);
        if (removal.what === 'run') released.add(mirror);
      } catch (error) {
        result.failed.push({ runId: removal.runId, error: toHaloError(error) });
      }
    }
    for (const name of released) await repackHeld(mirrorPath(home, name)).catch(() => undefined);
    for (const mirror of plan.mirrors) {
      if (signal?.aborted) break;
      try {
        if (await removeMirror(home, mirror.name, now())) result.mirrors.push(mirror);
      } catch (error) {
        failedMirrors.push({ mirror: mirror.name, error: toHaloError(error) });
      }
    }
    await failpoint('prune.after');
    return result;
  } finally {
    await lock.release();
  }
}

async function lockHome(home: string): Promise<Awaited<ReturnType<typeof acquireLock>>> {
  try {
    return await acquireLock(join(home, 'locks', 'retention'), { waitMs: 0, makeFolder: true });
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error;
    throw new HaloError('CONTROL_REFUSED', `Process ${error.owner} is already removing old runs of ${home}.`, {
      hint: 'Try again when it has finished.',
      cause: error,
    });
  }
}

interface Removing {
  by: string;
  /** The runs that were open before the plan was made. */
  openBefore: ReadonlySet<string>;
}

/** Returns the mirror of the run, or undefined if the run was reopened, or is needed by a new one, since the plan was made. */
async function remove(
  context: PruneContext,
  removal: RunRemoval,
  { by, openBefore }: Removing,
): Promise<string | undefined> {
  const { home, store } = context;
  const { runId, what, bytes } = removal;
  const isUnchanged = (state: RunState) => endOf(state) === removal.endedAt;
  await failpoint('prune.before');
  if (what === 'run') {
    let mirror: string | undefined;
    const release = async (state: RunState) => {
      const run = { runId, state };
      const isKept = async () =>
        (await findKeptRuns(home, [run, ...(await findNewRuns(store, openBefore))])).has(runId);
      if (!isUnchanged(state) || (await isKept())) return false;
      mirror = MIRROR_NAME.test(state.repo.mirror) ? state.repo.mirror : '';
      if (mirror !== '') await releaseRun(mirrorPath(home, mirror), runId);
      return true;
    };
    return (await removeRun(home, runId, { openRuns: new OpenRuns(home), release })) ? mirror : undefined;
  }
  const isNoted = await store.transact(runId, (state) => {
    if (!isUnchanged(state)) return { entries: [], result: false };
    // An interrupted removal is finished without another entry.
    const wasNoted = state.pruned !== undefined && state.pruned.at >= removal.endedAt;
    return { entries: wasNoted ? [] : [{ type: 'run.pruned', by, bytes }], result: true };
  });
  if (!isNoted) return undefined;
  await failpoint('prune.noted');
  return (await removeArtifacts(home, runId)) ? '' : undefined;
}

/** ISO 8601; undefined for a run that has not ended. */
function endOf({ status, endedAt, createdAt }: RunState): string | undefined {
  return status === 'ended' ? (endedAt ?? createdAt) : undefined;
}

/** Those that were opened since. */
async function findNewRuns(store: PruneContext['store'], openBefore: ReadonlySet<string>): Promise<IdentifiedRun[]> {
  const added = (await store.openRuns()).filter(({ runId }) => !openBefore.has(runId));
  return Promise.all(added.map(async ({ runId }) => ({ runId, state: await store.readState(runId) })));
}

/** A journal that somebody copied here may name any path. */
const MIRROR_NAME = /^[a-z0-9][a-z0-9-]*$/;

function usedMirrors(runs: readonly IdentifiedRun[]): Set<string> {
  return new Set(runs.map(({ state }) => state.repo.mirror));
}

/** A run with the id of its directory: the journal of a copied run may name another one. */
export interface IdentifiedRun {
  runId: string;
  state: RunState;
}

/** Why retention must not touch runs, by run id, as clauses; runs that it may touch are not listed. */
export async function findKeptRuns(home: string, runs: readonly IdentifiedRun[]): Promise<Map<string, string>> {
  const open = runs.filter(({ state }) => state.status !== 'ended' || waitsForAnswer(state));
  const needed = new Map<string, string>();
  const bases = new Map<string, string>();
  for (const { runId, state } of open) {
    for (const { run } of state.needs) needed.set(run, runId);
    bases.set(state.repo.base, runId);
  }
  const reports = new IssueReportFiles(home);
  const kept = new Map<string, string>();
  for (const { runId, state } of runs) {
    const user = needed.get(runId) ?? state.stories.map(({ commit = '' }) => bases.get(commit)).find(Boolean);
    const why =
      reasonInJournal(state) ??
      (user === undefined ? undefined : `run ${user} needs it`) ??
      ((await reports.has(runId)) ? 'its issues do not show its result yet' : undefined) ??
      (await reasonInGit(state));
    if (why !== undefined) kept.set(runId, why);
  }
  return kept;
}

function reasonInJournal(state: RunState): string | undefined {
  if (state.status !== 'ended') return 'it has not ended';
  if (state.stories.some(({ held }) => held !== undefined)) return 'a story waits for approval';
  if (state.stories.some(({ approved }) => approved !== undefined)) return 'an approved story has not landed';
  if (waitsForAnswer(state)) return 'a story waits for an answer';
  return undefined;
}

/** Why the branch of a run may be the only place of its commits. */
async function reasonInGit(state: RunState): Promise<string | undefined> {
  const { repo, tip, landed, scratch, stories } = state;
  const hasCommits = stories.some(({ commit }) => commit !== undefined);
  if (!hasCommits || landed !== undefined || scratch || currentDecision(state)?.verdict === 'rejected')
    return undefined;
  const notLanded = 'its commits have not landed on your branch';
  // The mirror has the only copy until `halo land` pushes it.
  if (isUrl(repo.source)) return notLanded;
  const gitDir = await inspectRunRepo(repo).then(
    (found) => found.gitDir,
    () => undefined,
  );
  if (gitDir === undefined) return 'its commits have not landed, and its repository cannot be read';
  // A journal that somebody copied here may name anything as a commit.
  return isObjectId(tip) && (await isOnOtherBranch(gitDir, tip)) ? undefined : notLanded;
}
