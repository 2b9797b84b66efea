import { addUsage, type Usage } from '../../core/agent.ts';
import { recordProof } from '../proof/proof-record.ts';
import { shareLayer } from '../snapshot/open-layer.ts';
import type { WorkerContext } from '../worker-context.ts';
import { NO_MEASUREMENTS, passed, toOutcome, type AttemptOutcome } from './attempt-outcome.ts';
import { describeChange } from './describe-change.ts';
import { implementStory } from './implement-story.ts';
import { approvalOf, openRunAttempt, type Attempt, type AttemptRequest } from './open-attempt.ts';
import { holdForApproval, openApproved } from './phases/approval.ts';
import { hasChanges, type ImplementedWork, type Work } from './phases/import-candidate.ts';
import { landCandidate } from './phases/land-candidate.ts';
import { mergeOntoTip, mergeWork } from './phases/merge-candidate.ts';
import { runGates } from './phases/run-gates.ts';
import { refactor, type GatedWork } from './tests/refactor.ts';
import { recordInterruption, recordOutcome } from './record-outcome.ts';

/**
 * Runs one attempt at one story. When this resolves, the outcome is in the journal. Throws if the worker or its
 * environment failed, or if the story was taken away from this worker (RUN_ABORTED); then the journal has no outcome.
 */
export async function runAttempt(worker: WorkerContext, request: AttemptRequest): Promise<void> {
  const attempt = await openRunAttempt(worker, request);
  const approval = approvalOf(attempt);
  let measured = NO_MEASUREMENTS;
  const landing = async () => {
    if (attempt.inputs.state.dry) return describeChange(attempt, (found) => (measured = found));
    const onUsed = (usage: Usage) => (measured = { ...measured, usage: addUsage(measured.usage, usage) });
    if (approval !== undefined) return gateAndLand(attempt, await openApproved(attempt, approval), onUsed);
    const work = await implementStory(attempt, (found) => (measured = found));
    return hasChanges(work) ? gateAndLand(attempt, await mergeOntoTip(attempt, work), onUsed) : gateOnly(attempt, work);
  };
  try {
    const outcome = await landing().catch(toOutcome);
    await recordOutcome(attempt, outcome, measured);
  } catch (error) {
    await recordInterruption(attempt, measured, request.signal);
    throw error;
  } finally {
    worker.inBackground(attempt.resources.close());
  }
}

/** Runs all phases up to the gates, for a replay: it merges and lands nothing. The caller closes the attempt. */
export async function rehearseAttempt(attempt: Attempt): Promise<AttemptOutcome> {
  if (attempt.inputs.state.dry) return describeChange(attempt, () => undefined).catch(toOutcome);
  const rehearsal = implementStory(attempt, () => undefined).then(async (work) => {
    if (hasChanges(work)) await gate(attempt, work, () => undefined);
    else await runGates(attempt, work);
    return passed(work);
  });
  return rehearsal.catch(toOutcome);
}

const gateOnly = (attempt: Attempt, work: ImplementedWork) => runGates(attempt, work).then(() => passed(work));

/** Runs the gates, and lets an agent refactor what passes them if that is wanted. */
async function gate(attempt: Attempt, work: Work, onUsed: (usage: Usage) => void): Promise<GatedWork> {
  return refactor(attempt, { work, gates: await runGates(attempt, work) }, onUsed);
}

/** Repeats from the merge if another story lands first. */
async function gateAndLand(attempt: Attempt, first: Work, onUsed: (usage: Usage) => void): Promise<AttemptOutcome> {
  for (let { work, gates } = await gate(attempt, first, onUsed); ; gates = await runGates(attempt, work)) {
    await recordProof(attempt, work, gates);
    await holdForApproval(attempt, work);
    const landing = await landCandidate(attempt, work);
    if (landing.kind === 'landed') {
      await shareLayer(attempt, gates.layer);
      return landing.outcome;
    }
    work = await mergeWork(attempt, work, landing.tip);
  }
}
