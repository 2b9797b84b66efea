import { HaloError } from '../../core/failure/errors.ts';
import type { RequestedPull, RunPull } from '../../core/pulls/pull-state.ts';
import { assertConfirmed, secretsToConfirm, type Confirmation } from '../../core/review/flags.ts';
import { assertAllowed, canOpenPull, isApproved } from '../../core/run/actions.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { PullFiles } from '../../store/forge-files.ts';
import type { ForgeContext } from '../issues/open-issue-source.ts';
import { findContinuedRuns } from '../run/continued-runs.ts';
import { assertPullTarget } from './open-pull-target.ts';

/**
 * Requests a pull request for what a run has landed, whatever its `land.mode` is: a worker opens it. Repeated, it is tried
 * again now. Throws LAND_REFUSED with the reason, UNCONFIRMED if its push would publish possible secrets that no person has
 * confirmed, and CONFIG_INVALID if no forge is configured for the repository.
 */
export async function requestPull(
  { store, ...context }: ForgeContext & { store: JournalStore },
  { runId, by, confirmation }: { runId: string; by: string; confirmation?: Confirmation },
): Promise<RequestedPull> {
  const before = await store.readState(runId);
  if (before.pull === undefined) {
    await assertPullTarget(context, before);
    assertAllowed(canOpenPull(before));
  }
  // The pull request has their commits.
  const continued = (await findContinuedRuns(store, context.home, before)).map(({ state }) => state);
  const result = await store.transact<RequestedPull>(runId, (state) => {
    const pull = state.pull && requireOpen(state.pull);
    const secrets = secretsToConfirm(state, continued);
    if (pull !== undefined && secrets.length === 0) return { entries: [], result: { runId, changed: false, pull } };
    assertAllowed(canOpenPull(state));
    for (const other of continued) assertAllowed(isApproved(other, { needsApproval: false }));
    assertPublishable(state, { secrets, continued }, confirmation);
    const confirmed = [...(state.pullRequested?.confirmed ?? []), ...secrets.flatMap(({ commit }) => commit ?? [])];
    return {
      entries: [{ type: 'pull.requested', by, ...(confirmed.length > 0 && { confirmed }) }],
      result: { runId, changed: true, ...(pull && { pull }) },
    };
  });
  // Without the reason of an earlier failure.
  if (result.changed) await new PullFiles(context.home).write(runId, {});
  return result;
}

/** Throws UNCONFIRMED unless a person confirms, or has confirmed, each possible secret that the push would publish. */
export function assertPublishable(
  run: RunState,
  { secrets, continued }: { secrets: readonly StoryState[]; continued: readonly RunState[] },
  confirmation?: Confirmation,
): void {
  if (secrets.length === 0) return;
  const of = continued.filter(({ stories }) => stories.some((story) => secrets.includes(story)));
  const decision = { verb: 'pr', flags: ['secret'], runId: run.runId, commit: run.tip } as const;
  assertConfirmed({ ...decision, stories: secrets, continued: of.map(({ runId }) => runId) }, confirmation);
}

function requireOpen({ number, url, ended, branch }: RunPull): Pick<RunPull, 'number' | 'url'> {
  if (ended === undefined) return { number, url };
  const isLeft = ended === 'merged' || branch !== undefined;
  const hint = isLeft ? undefined : 'Open it again on the forge: halo updates it after the next change of the run.';
  throw refused(`The pull request #${number} was ${ended} already: ${safeLine(url, 300)}`, hint);
}

function refused(message: string, hint?: string): HaloError {
  return new HaloError('LAND_REFUSED', message, hint === undefined ? {} : { hint });
}
