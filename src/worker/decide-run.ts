import { decisionOn } from '../core/decision.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { JournalEntry } from '../core/journal/events.ts';
import type { RunState } from '../core/run-state.ts';
import type { RunKeeper } from './worker-context.ts';
import { reasonOf } from './decide-held.ts';
import { hostGitDirOf } from './host-repo.ts';
import { noteProof } from './keep-proof.ts';
import { landRun, type LandedRun } from './run/land-run.ts';
import { readRun } from './run/read-run.ts';

export interface DecidedRun {
  runId: string;
  /** False when it was decided the same way before. */
  changed: boolean;
  tip: string;
  landed?: LandedRun;
}

/**
 * A person's yes to all that an ended run made: the notes of its commits say who, and with `[land] mode = "ff"` it is
 * taken over at once. Repeating it is harmless: the first who said so stays named. Throws LAND_REFUSED.
 */
export async function approveRun(keeper: RunKeeper, runId: string, by: string): Promise<DecidedRun> {
  const { home, store } = keeper;
  const { state, changed, approvedBy } = await store.transact(runId, (state) => {
    refuseUndecidable(state);
    const before = decisionOn(state);
    if (before?.verdict === 'approved')
      return { entries: [], result: { state, changed: false, approvedBy: before.by } };
    const yes: JournalEntry = { type: 'run.approved', by, tip: state.tip };
    return { entries: [yes], result: { state, changed: true, approvedBy: by } };
  });
  const { config } = await readRun(keeper, runId);
  const gitDir = await hostGitDirOf(home, state.repo);
  for (const { id, key, attempts, commit, progress } of state.stories) {
    if (commit === undefined || progress !== 'passed') continue;
    const place = { runId, storyKey: key, attempt: attempts };
    const whose = { story: id, attempt: attempts };
    const noted = await noteProof({ store, place, whose, gitDir, commit, git: config.git, approvedBy });
    if (noted.length > 0) await store.append(runId, noted);
  }
  const decided = { runId, changed, tip: state.tip };
  if (config.land.mode !== 'ff' || state.stopReason !== 'SUCCESS') return decided;
  return { ...decided, landed: await landRun(store, home, runId) };
}

/** A person's no: `halo land` refuses it. Throws LAND_REFUSED. */
export async function rejectRun(
  keeper: RunKeeper,
  runId: string,
  { by, reason }: { by: string; reason: string | undefined },
): Promise<DecidedRun> {
  return keeper.store.transact(runId, (state) => {
    refuseUndecidable(state);
    const { tip } = state;
    const changed = decisionOn(state)?.verdict !== 'rejected';
    const no: JournalEntry = { type: 'run.rejected', by, tip, reason: reasonOf(reason) };
    return { entries: changed ? [no] : [], result: { runId, changed, tip } };
  });
}

function refuseUndecidable({ runId, status, tip, repo, landed, stories }: RunState): void {
  const waiting = stories.filter(({ held }) => held !== undefined).map(({ id }) => id);
  if (waiting.length > 0) {
    throw new HaloError('LAND_REFUSED', `In run ${runId} single stories wait for a decision: ${waiting.join(', ')}.`, {
      hint: 'Name one with --story.',
    });
  }
  if (status !== 'ended')
    throw new HaloError('LAND_REFUSED', `Run ${runId} is still going on.`, { hint: 'Decide on it when it has ended.' });
  if (tip === repo.base)
    throw new HaloError('LAND_REFUSED', `Run ${runId} has landed no story: there is nothing to decide on.`);
  if (landed !== undefined)
    throw new HaloError('LAND_REFUSED', `Run ${runId} is on ${landed.branch} already: there is nothing to decide on.`);
}
