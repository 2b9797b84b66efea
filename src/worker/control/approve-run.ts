import type { RunDecisionResult } from '../../core/run/control-result.ts';
import { assertAllowed, canApprove } from '../../core/run/actions.ts';
import { currentDecision } from '../../core/run/state.ts';
import { assertConfirmed, landingStories, type Confirmation } from '../../core/review/flags.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { RunKeeper } from '../worker-context.ts';
import { reasonOf } from './approve-story.ts';
import { hostGitDirOf } from '../repository/host-repository.ts';
import { writeProofNote } from '../proof/proof-record.ts';
import { landRun } from '../run/land-run.ts';
import { readRun } from '../run/read-run.ts';

/**
 * Approves everything that an ended run landed on its branch. The notes of its commits name the person, and with
 * `[land] mode = "ff"` the run is landed immediately. Safe to repeat; the first person stays named. Throws LAND_REFUSED, UNCONFIRMED.
 */
export async function approveRun(
  keeper: RunKeeper,
  { runId, by, confirmation }: { runId: string; by: string; confirmation?: Confirmation },
): Promise<RunDecisionResult> {
  const { home, store } = keeper;
  const { state, changed, approvedBy } = await store.transact(runId, (state) => {
    assertAllowed(canApprove(state));
    const before = currentDecision(state);
    if (before?.verdict === 'approved')
      return { entries: [], result: { state, changed: false, approvedBy: before.by } };
    assertConfirmed({ verb: 'approve', runId, stories: landingStories(state), commit: state.tip }, confirmation);
    const entry: JournalEntry = { type: 'run.approved', by, tip: state.tip };
    return { entries: [entry], result: { state, changed: true, approvedBy: by } };
  });
  const { config } = await readRun(keeper, runId);
  const gitDir = await hostGitDirOf(home, state.repo);
  for (const { id, key, attempts, commit, progress } of state.stories) {
    if (commit === undefined || progress !== 'passed') continue;
    const location = { runId, storyKey: key, attempt: attempts };
    const attemptRef = { story: id, attempt: attempts };
    const noted = await writeProofNote({ store, location, attemptRef, gitDir, commit, git: config.git, approvedBy });
    if (noted.length > 0) await store.append(runId, noted);
  }
  const decided = { runId, changed, tip: state.tip };
  if (config.land.mode !== 'ff' || state.stopReason !== 'SUCCESS') return decided;
  return { ...decided, landed: await landRun(store, home, { runId, by, confirmation }) };
}

/** Rejects an ended run: `halo land` then refuses it. Throws LAND_REFUSED. */
export async function rejectRun(
  keeper: RunKeeper,
  runId: string,
  { by, reason }: { by: string; reason: string | undefined },
): Promise<RunDecisionResult> {
  return keeper.store.transact(runId, (state) => {
    assertAllowed(canApprove(state));
    const { tip } = state;
    const changed = currentDecision(state)?.verdict !== 'rejected';
    const entry: JournalEntry = { type: 'run.rejected', by, tip, reason: reasonOf(reason) };
    return { entries: changed ? [entry] : [], result: { runId, changed, tip } };
  });
}
