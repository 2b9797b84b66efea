import { addUsage } from '../../core/agent.ts';
import { classifyFailure } from '../../core/failure/failure.ts';
import type { AgentReview } from '../../core/review/agent-review.ts';
import { storyOf } from '../../core/run/state.ts';
import { recordProof } from '../proof/proof-files.ts';
import { Measurements, passed, toOutcome, type AttemptOutcome } from './attempt-outcome.ts';
import { keepLeftWork } from './kept-work.ts';
import { approvalOf, type Attempt } from './open-attempt.ts';
import { holdForApproval, openApproved } from './phases/approval.ts';
import { exportTree } from './phases/export-tree.ts';
import { importCandidate } from './phases/import-candidate.ts';
import { landCandidate, mergeOntoTip, mergeWork } from './phases/land-candidate.ts';
import { prepareReadingWorkspace, prepareWorkspaces, type WorkAhead } from './phases/prepare-workspace.ts';
import { runAgent } from './phases/run-agent.ts';
import { runGates } from './phases/run-gates.ts';
import { setUp } from './phases/run-setup.ts';
import { recordInterruption, recordOutcome } from './record-outcome.ts';
import { REVIEWING } from '../joined.ts';
import { assertLayersIntact } from '../snapshot/open-layer.ts';
import { refactor, type GatedWork } from './tests-first/refactor.ts';
import { writeTests } from './tests-first/write-tests.ts';
import { hasChanges, newWork, type ImplementedWork, type Work } from './work.ts';

/**
 * Runs an attempt and closes it. When this resolves, the outcome is in the journal. Throws if the worker or its
 * environment failed, or if the story was taken away from this worker (RUN_ABORTED); then the journal has no outcome.
 */
export async function runAttempt(attempt: Attempt, ahead: WorkAhead = {}): Promise<void> {
  const measured = new Measurements();
  try {
    const outcome = await reachOutcome(attempt, measured, ahead).catch(toOutcome);
    if (mayBeOfWorkspace(outcome)) await assertLayersIntact(attempt);
    await recordOutcome(attempt, outcome, measured.current);
  } catch (error) {
    await recordInterruption(attempt, measured.current);
    throw error;
  } finally {
    attempt.worker.inBackground(attempt.resources.close());
  }
}

/** Whether the files with which its workspaces began may have caused that an attempt failed. */
function mayBeOfWorkspace({ verdict, stopReason, cause }: AttemptOutcome): boolean {
  const { class: of } = classifyFailure({ stopReason, cause });
  return verdict !== 'passed' && (['gate', 'tests', 'environment'].includes(of) || stopReason === 'TIMEOUT');
}

async function reachOutcome(attempt: Attempt, measured: Measurements, ahead: WorkAhead): Promise<AttemptOutcome> {
  if (attempt.inputs.state.dry) return describeChange(attempt, measured);
  const approval = approvalOf(attempt);
  if (approval !== undefined) return gateAndLand(attempt, await openApproved(attempt, approval), measured);
  const work = await implementStory(attempt, measured, ahead);
  if (hasChanges(work)) return gateAndLand(attempt, await mergeOntoTip(attempt, work), measured);
  await gateWork(attempt, work, measured);
  return passed(work);
}

/** A dry run: the agent reads the workspace and describes what it would change. Nothing is exported. */
export async function describeChange(attempt: Attempt, measured: Measurements): Promise<AttemptOutcome> {
  const work = await prepareReadingWorkspace(attempt);
  return { ...passed(await runAgent(attempt, work, { measured })), described: true };
}

/** The agent's work becomes a candidate, on top of the tests that were written first. */
export async function implementStory(
  opened: Attempt,
  measured: Measurements,
  ahead: WorkAhead = {},
): Promise<ImplementedWork> {
  const { onSnapshot, work, kept, commit, startAhead } = await prepareWorkspaces(opened, ahead.prepared);
  const afterSetup = await setUp(onSnapshot, work, commit);
  const { attempt, exporter } = await writeTests(onSnapshot, { work, kept, exporter: afterSetup }, measured);
  const started = startAhead(attempt, exporter);
  const answer = await runAgent(attempt, work, { exporter, measured });
  const tree = await exportTree(attempt, exporter);
  const candidate = await importCandidate(attempt, tree, answer.summary);
  measured.setChange(candidate?.changed);
  if (candidate !== undefined) ahead.onCandidate?.(candidate.commit);
  return newWork(attempt, { candidate, answer, usage: measured.current.usage, ...started });
}

/** Repeats from the merge if another story lands first. */
async function gateAndLand(attempt: Attempt, first: Work, measured: Measurements): Promise<AttemptOutcome> {
  let review = reviewedBefore(attempt);
  for (let next = first; ;) {
    const gated = await gateAndReview(attempt, next, measured);
    const { work, gates } = gated;
    review = gated.review ?? review;
    await recordProof(attempt, work, { ...gates, review });
    await holdForApproval(attempt, work, review);
    const landing = await landCandidate(attempt, work, gates.layer);
    if (landing.kind === 'landed') return landing.outcome;
    next = await mergeWork(attempt, work, landing.tip);
  }
}

/** The review of the approved commit with which an attempt continues. */
function reviewedBefore(attempt: Attempt): AgentReview | undefined {
  return approvalOf(attempt) && storyOf(attempt.inputs.state, attempt.inputs.story.id).reviewed;
}

/** Runs the gates, and has the change reviewed that passed them, if the configuration asks for it. */
export async function gateAndReview(
  attempt: Attempt,
  work: Work,
  measured: Measurements,
): Promise<GatedWork<Work> & { review: AgentReview | undefined }> {
  const reviewer = REVIEWING.open(attempt, work);
  const green = await gateWork(attempt, work, measured);
  const own = new Measurements();
  const review = await reviewer?.judge(green.work, own).finally(() => measured.addUsage(own.current.usage));
  const { origin } = green.work;
  const usage = addUsage(origin.usage, own.current.usage);
  return { ...green, work: { ...green.work, origin: { ...origin, usage } }, review };
}

/** Runs the gates. What has passed may be refactored, if the configuration asks for it. */
export async function gateWork<W extends ImplementedWork>(
  attempt: Attempt,
  work: W,
  measured: Measurements,
): Promise<GatedWork<W>> {
  const gates = await runGates(attempt, work).catch(async (error: unknown) => {
    throw await keepLeftWork(attempt, error, work.candidate);
  });
  return refactor(attempt, { work, gates }, measured);
}
