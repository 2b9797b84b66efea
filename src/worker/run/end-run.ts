import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { planNext, type RunEnd } from '../../core/run/plan.ts';
import { listFlags, unconfirmedChanges } from '../../core/review/flags.ts';
import type { RunState } from '../../core/run/state.ts';
import { createRunWorktree, inspectRunRepo } from '../repository/host-repository.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { listChanges } from '../../git/repository/inspect-repo.ts';
import { landRun } from './land-run.ts';
import { tryRecoverLanded } from './recover-landed.ts';
import type { RunInputs } from './read-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import { markPrdProgress } from './mark-prd-progress.ts';
import { defined } from '../../lib/guards.ts';

/** The end of a run, from its state; undefined while there is something left to do. */
export function planEnd(state: RunState): RunEnd | undefined {
  const plan = planNext(state);
  return plan.kind === 'end' ? plan : undefined;
}

/**
 * Records the end of a run that `decide` returns, unless the run has ended or `decide`, called again under the lock,
 * returns none. Lands the run if `land.mode` is "ff" and nothing in it is flagged, and writes the debug bundle after a failure.
 */
export async function endRun(
  worker: RunKeeper,
  { runId, config }: Pick<RunInputs, 'runId' | 'config'>,
  decide: (state: RunState) => RunEnd | undefined,
): Promise<void> {
  const state = await worker.store.readState(runId);
  const expected = state.status === 'ended' ? undefined : decide(state);
  if (expected === undefined) return;
  await markPrdProgress(worker, { runId, config });
  // The bundle comes first, so that it matches the recorded end.
  await refreshDebugBundle(worker, { runId, config, end: expected });
  const aside =
    expected.stopReason === 'SUCCESS' && config.land.mode === 'worktree' ? await checkOutResult(worker, runId) : '';
  let isRecovered = false;
  await worker.store.transact(runId, async (now) => {
    const end = now.status === 'ended' ? undefined : decide(now);
    if (end === undefined) return { entries: [], result: undefined };
    const landed = await tryRecoverLanded(worker, { state: now, config });
    isRecovered = landed.length > 0;
    const { stopReason, story } = end;
    const flagged = config.land.mode === 'ff' ? describeFlagged(now) : '';
    const detail = stopReason === 'SUCCESS' ? `${end.detail}${aside}${flagged}` : end.detail;
    return {
      entries: [...landed, { type: 'run.ended', stopReason, detail, ...defined({ story }) }],
      result: undefined,
    };
  });
  if (isRecovered) await markPrdProgress(worker, { runId, config });
  await landEnded(worker, { runId, config });
}

/**
 * Lands a run that has ended, if `land.mode` is "ff" and nothing in it is flagged. Also for a run that has ended before: its
 * worker may have died in between.
 */
export async function landEnded(
  { store, home, log }: Pick<RunKeeper, 'store' | 'home' | 'log'>,
  { runId, config }: Pick<RunInputs, 'runId' | 'config'>,
): Promise<void> {
  const { status, stopReason, landed, dry } = await store.readState(runId);
  const isDue = status === 'ended' && stopReason === 'SUCCESS' && landed === undefined && !dry;
  if (!isDue || config.land.mode !== 'ff') return;
  try {
    await landRun(store, home, { runId });
  } catch (error) {
    if (!(error instanceof HaloError)) throw error;
    log.warn({ runId, reason: error.message }, 'fast-forward failed, run branch kept');
  }
}

/** A clause about what a person has to confirm before the run lands. */
function describeFlagged(state: RunState): string {
  const flags = listFlags(unconfirmedChanges(state)).map(({ text }) => text);
  return flags.length === 0 ? '' : `, not landed: a person has to confirm it (${flags.join('; ')})`;
}

/** Creates the run's worktree. Returns a clause that names its path, or why it failed. Never throws. */
async function checkOutResult(worker: RunKeeper, runId: string): Promise<string> {
  try {
    const path = await createRunWorktree(worker, runId);
    return path === undefined ? '' : `, checked out in ${path}`;
  } catch (error) {
    worker.log.warn({ runId, err: error }, 'worktree could not be created, run branch kept');
    return `, not checked out: ${toHaloError(error).message}`;
  }
}

interface Ending extends Pick<RunInputs, 'runId' | 'config'> {
  end: RunEnd;
}

/** Writes the debug bundle of a failed run, or removes the bundle of an earlier failure. Never throws. */
export async function refreshDebugBundle(worker: RunKeeper, { runId, config, end }: Ending): Promise<void> {
  const { store, log } = worker;
  try {
    if (end.stopReason === 'SUCCESS') return await store.dropDebugBundle(runId);
    const state = await store.readState(runId);
    const story = state.stories.find(({ id }) => id === end.story);
    const location = story && { runId, storyKey: story.key, attempt: Math.max(1, story.attempts) };
    const diff = location && (await store.readArtifact(location, 'diff.patch'));
    await store.writeDebugBundle(runId, {
      end,
      gitStatus: await gitStatusText(state.repo),
      ...defined({ gitDiff: diff }),
      container: { image: config.image, limits: config.limits },
    });
  } catch (error) {
    // A bundle that cannot be written must not prevent the end of the run.
    log.error({ runId, err: error }, 'the debug bundle could not be written');
  }
}

/** The commit, the branch and the changed files of a checkout, as text for the debug bundle. Never throws. */
export async function gitStatusText(repo: Pick<RunRepo, 'source' | 'places'>): Promise<string> {
  try {
    const { root, head, branch } = await inspectRunRepo(repo);
    const changes = await listChanges(root);
    return [`HEAD ${head} (${branch ?? 'detached'})`, ...changes.tracked, ...changes.untracked].join('\n') + '\n';
  } catch (error) {
    return `unknown: ${error instanceof Error ? error.message : String(error)}\n`;
  }
}
