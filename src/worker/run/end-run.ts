import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { planNext, type RunEnd } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run-state.ts';
import { checkOutRun } from '../repository/run-worktree.ts';
import { describeCheckout } from '../describe-checkout.ts';
import { landRun } from './land-run.ts';
import { settleLanded } from '../recover-landed.ts';
import type { Run } from './read-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import { writeBackProgress } from './mark-prd-progress.ts';

/** The end that the journal comes to; undefined while there is something left to do. */
export function planEnd(state: RunState): RunEnd | undefined {
  const plan = planNext(state);
  return plan.kind === 'end' ? plan : undefined;
}

/**
 * Writes the end of a run that `decide` sees, unless it has ended meanwhile or `decide`, asked again under the lock,
 * sees none any more. Lands it when the configuration says so, and bundles up what explains a failure.
 */
export async function endRun(
  worker: RunKeeper,
  { runId, config }: Pick<Run, 'runId' | 'config'>,
  decide: (state: RunState) => RunEnd | undefined,
): Promise<void> {
  const state = await worker.store.readState(runId);
  const expected = state.status === 'ended' ? undefined : decide(state);
  if (expected === undefined) return;
  await writeBackProgress(worker, { runId, config });
  // The bundle first: whoever sees the end finds that of this failure or, after a success, none.
  await refreshBundle(worker, { runId, config, end: expected });
  const aside =
    expected.stopReason === 'SUCCESS' && config.land.mode === 'worktree' ? await showAside(worker, runId) : '';
  const end = await worker.store.transact(runId, async (now) => {
    const end = now.status === 'ended' ? undefined : decide(now);
    if (end === undefined) return { entries: [], result: undefined };
    const landed = await settleLanded(worker, now, config);
    const { stopReason } = end;
    const detail = stopReason === 'SUCCESS' ? `${end.detail}${aside}` : end.detail;
    return { entries: [...landed, { type: 'run.ended', stopReason, detail }], result: end };
  });
  if (end?.stopReason !== 'SUCCESS' || config.land.mode !== 'ff') return;
  try {
    await landRun(worker.store, worker.home, runId);
  } catch (error) {
    if (!(error instanceof HaloError)) throw error;
    worker.log.warn({ runId, reason: error.message }, 'the run could not be taken over; its branch is there');
  }
}

/** Says where the result is checked out, or why it is not. Never throws: the branch of the run has it all. */
async function showAside(worker: RunKeeper, runId: string): Promise<string> {
  try {
    const path = await checkOutRun(worker, runId);
    return path === undefined ? '' : `, checked out in ${path}`;
  } catch (error) {
    worker.log.warn({ runId, err: error }, 'the run could not be checked out aside; its branch is there');
    return `, not checked out: ${toHaloError(error).message}`;
  }
}

interface Ending extends Pick<Run, 'runId' | 'config'> {
  end: RunEnd;
}

/** Bundles up what explains an end that is no success; what explained an earlier one goes. Never throws. */
export async function refreshBundle(worker: RunKeeper, { runId, config, end }: Ending): Promise<void> {
  const { store, log } = worker;
  try {
    if (end.stopReason === 'SUCCESS') return await store.dropDebugBundle(runId);
    const state = await store.readState(runId);
    const story = state.stories.find(({ progress }) => ['failed', 'needs_human', 'in_progress'].includes(progress));
    const place = story && { runId, storyKey: story.key, attempt: Math.max(1, story.attempts) };
    const diff = place && (await store.readArtifact(place, 'diff.patch'));
    await store.writeDebugBundle(runId, {
      end: { stopReason: end.stopReason, detail: end.detail },
      ...(place === undefined ? {} : { storyKey: place.storyKey, attempt: place.attempt }),
      gitStatus: await describeCheckout(state.repo.source),
      ...(diff === undefined ? {} : { gitDiff: diff }),
      container: { image: config.image, limits: config.limits },
    });
  } catch (error) {
    // The run's end is written already; a bundle that cannot be made must not undo it.
    log.error({ runId, err: error }, 'the debug bundle could not be written');
  }
}
