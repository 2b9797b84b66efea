import { HaloError } from '../../core/failure/errors.ts';
import type { RequestedPull, RunPull } from '../../core/pulls/pull-state.ts';
import { currentDecision, type RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { PullFiles } from '../../store/forge/pull-files.ts';
import type { ForgeContext } from '../issues/open-issue-source.ts';
import { findContinuedRuns } from '../run/continued-runs.ts';
import { assertPullTarget } from './open-pull-target.ts';

/**
 * Requests a pull request for what a run has landed, whatever its `land.mode` is: a worker opens it. Repeated, it is tried
 * again now. Throws LAND_REFUSED with the reason, and CONFIG_INVALID if no forge is configured for the repository.
 */
export async function requestPull(
  { store, ...context }: ForgeContext & { store: JournalStore },
  { runId, by }: { runId: string; by: string },
): Promise<RequestedPull> {
  const before = await store.readState(runId);
  if (before.pull === undefined) {
    await assertPullTarget(context, before);
    assertHasWork(before);
    // The pull request would have their commits.
    for (const { state } of await findContinuedRuns(store, context.home, before)) assertNotRejected(state);
  }
  const result = await store.transact<RequestedPull>(runId, (state) => {
    if (state.pull !== undefined)
      return { entries: [], result: { runId, changed: false, pull: requireOpen(state.pull) } };
    assertHasWork(state);
    return { entries: [{ type: 'pull.requested', by }], result: { runId, changed: true } };
  });
  // Without the reason of an earlier failure.
  if (result.changed) await new PullFiles(context.home).write(runId, {});
  return result;
}

function requireOpen({ number, url, ended, branch }: RunPull): Pick<RunPull, 'number' | 'url'> {
  if (ended === undefined) return { number, url };
  const isLeft = ended === 'merged' || branch !== undefined;
  const hint = isLeft ? undefined : 'Open it again on the forge: halo updates it after the next change of the run.';
  throw refused(`The pull request #${number} was ${ended} already: ${safeLine(url, 300)}`, hint);
}

function assertHasWork(state: RunState): void {
  const { runId, landed, tip, repo, dry, scratch } = state;
  const status = `Run \`halo status ${runId}\` to see its state.`;
  if (dry) throw refused(`Run ${runId} lands nothing: there is nothing to open a pull request for.`);
  if (scratch) throw refused(`Run ${runId} was an import: its temporary repository has been removed.`);
  if (tip === repo.base)
    throw refused(`Run ${runId} has landed no story: there is nothing to open a pull request for.`, status);
  if (landed !== undefined)
    throw refused(`Run ${runId} is on ${safeLine(landed.branch)} already: nothing is left to merge.`, status);
  assertNotRejected(state);
}

function assertNotRejected(state: RunState): void {
  const { runId } = state;
  const decision = currentDecision(state);
  if (decision?.verdict === 'rejected')
    throw refused(
      `${decision.by} rejected the result of run ${runId}.`,
      `Run \`halo approve ${runId}\` to approve it after all.`,
    );
}

function refused(message: string, hint?: string): HaloError {
  return new HaloError('LAND_REFUSED', message, hint === undefined ? {} : { hint });
}
