import type { AgentAnswer } from '../core/agent.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { FailureNote } from '../core/journal/events.ts';
import { judgeFailure } from '../core/failure/judge-failure.ts';
import type { Approval } from '../core/run-state.ts';
import { releaseCommit } from '../git/hold.ts';
import { openAttempt, type Attempt, type AttemptRequest } from './attempt-context.ts';
import { openBaseline, type Baseline } from './baseline.ts';
import { fenceArtifacts, refuseOvertaken } from './fence.ts';
import { landProven, type Proven } from './land-proven.ts';
import { proveApproved } from './prove-approved.ts';
import { keepPartialWork } from './partial-work.ts';
import { tellBreakers } from './run/shared-breakers.ts';
import { planSteps } from './plan-steps.ts';
import { runAgent } from './phases/agent.ts';
import { exportTree, openExporter } from './attempt/phases/export-tree.ts';
import { runGates } from './phases/gates.ts';
import { importCandidate, type Candidate } from './phases/import.ts';
import { mergeWithTip, type Based } from './phases/merge.ts';
import { prepareWorkspace } from './phases/prepare.ts';
import { runSetup } from './phases/setup.ts';
import { endedEntry, endOfError, type StoryEnd } from './story-end.ts';
import type { WorkerContext } from './worker-context.ts';
import { openWorkspace } from './workspace.ts';

/**
 * Tries one story once: the table of contents of halo. Every verdict is in the journal when this resolves; what throws
 * is a fault of the worker or its surroundings, or the story was taken from it (RUN_ABORTED): no verdict then.
 */
export async function attemptStory(worker: WorkerContext, request: AttemptRequest): Promise<void> {
  const store = fenceArtifacts(worker.store, request.runId, request);
  const attempt = await openAttempt({ ...worker, store }, request);
  const approval = request.state.stories.find(({ id }) => id === request.story.id)?.approved;
  try {
    const end = await (approval === undefined ? runPhases(attempt) : landApproved(attempt, approval)).catch(endOrThrow);
    // What landed is in the journal since that moment.
    const failure = end.commit === undefined ? await recordEnd(attempt, end) : undefined;
    if (approval === undefined) await tell(attempt, failure);
    else if (end.held === undefined) await releaseCommit(attempt.mirrorDir, attempt.runId, attempt.key);
  } catch (error) {
    if (request.signal.aborted && !isPersons(request.signal.reason)) await giveBack(attempt);
    if (isPersons(attempt.signal.reason)) await attempt.report({ type: 'story.stopped', usage: attempt.usage });
    throw error;
  } finally {
    worker.inBackground(attempt.close());
  }
}

/** Goes the same way up to the gates: nothing of it leaves the attempt. The caller closes it. */
export async function rehearseStory(attempt: Attempt): Promise<StoryEnd> {
  const summaryOf = async () => (await proveWork(attempt, asItIs)).answer.summary;
  return summaryOf().then(
    (summary) => ({ verdict: 'passed', stopReason: 'SUCCESS', summary, usage: attempt.usage }),
    (error: unknown) => ({ ...endOrThrow(error), usage: attempt.usage }),
  );
}

async function runPhases(attempt: Attempt): Promise<StoryEnd> {
  const { answer, proven } = await proveWork(attempt, mergeWithTip);
  if (proven !== undefined) return landProven(proven, answer.summary);
  return { verdict: 'passed', stopReason: 'SUCCESS', summary: answer.summary, usage: attempt.usage };
}

/** The agent's work is done, and a person has said yes to it. */
async function landApproved(attempt: Attempt, approval: Approval): Promise<StoryEnd> {
  const { summary, ...proven } = await proveApproved(attempt, approval);
  return landProven(proven, summary);
}

interface ProvenWork {
  answer: AgentAnswer;
  /** Undefined when the agent changed nothing and the gates pass on the commit that the story builds on. */
  proven: Proven | undefined;
}

/** On which commit the gates see the work: where other stories landed while the agent worked, together with theirs. */
type Rebase = (attempt: Attempt, candidate: Candidate, summary: string) => Promise<Based>;

function asItIs(attempt: Attempt, candidate: Candidate): Promise<Based> {
  return Promise.resolve({ attempt, candidate });
}

async function proveWork(attempt: Attempt, rebase: Rebase): Promise<ProvenWork> {
  const baseline = openBaseline(attempt);
  try {
    return await workAndProve(attempt, baseline, rebase);
  } finally {
    baseline.stop();
  }
}

async function workAndProve(attempt: Attempt, baseline: Baseline, rebase: Rebase): Promise<ProvenWork> {
  const { workSteps, cleanSteps } = planSteps(attempt);
  const work = openWorkspace(attempt, 'work', workSteps);
  await prepareWorkspace(attempt, work);
  await runSetup(attempt, work);
  const answering = runAgent(attempt, work);
  // Started ahead, while the agent works.
  const exporter = openExporter(attempt, work);
  const clean = openWorkspace(attempt, 'clean', cleanSteps);
  baseline.start();
  const answer = await answering.catch((error: unknown) => keepPartialWork(attempt, exporter, error));
  const exported = await exportTree(attempt, exporter);
  const done = await importCandidate(attempt, exported, answer);
  if (done === undefined) {
    await runGates(attempt, clean, { candidate: { commit: attempt.base }, baseline, claims: answer.criteria });
    return { answer, proven: undefined };
  }
  const based = await rebase(attempt, done, answer.summary);
  const gates = await runGates(based.attempt, clean, {
    candidate: based.candidate,
    claims: answer.criteria,
    baseline: based.attempt === attempt ? baseline : openBaseline(based.attempt),
  });
  return { answer, proven: { ...based, gates } };
}

function endOrThrow(error: unknown): StoryEnd {
  const end = endOfError(error);
  if (end === undefined) throw error;
  return end;
}

/** Keeps what the next attempt and the debug bundle want to know, and writes the end down. */
async function recordEnd(attempt: Attempt, end: StoryEnd): Promise<FailureNote | undefined> {
  const { worker, place, runId, story, number, signal, usage } = attempt;
  // Who stopped it has written down what becomes of the story, or wants another worker to do it.
  if (end.stopReason === 'USER_ABORT') throw signal.reason;
  if (end.tail !== undefined) await worker.store.writeArtifact(place, 'failure.log', end.tail);
  const whose = { story: story.id, attempt: number };
  return worker.store.transact(runId, (state) => {
    refuseOvertaken(state, attempt);
    if (end.verdict !== 'failed') return { entries: [endedEntry(whose, { ...end, usage })], result: undefined };
    const failed = { ...whose, ...attempt.measured, ...end };
    const { failure, entries } = judgeFailure(state, failed, { policies: attempt.config, now: worker.now() });
    return { entries: [endedEntry(whose, { ...end, usage }, failure), ...entries], result: failure };
  });
}

/** The verdict is written down: breakers that cannot be told do not change it. */
async function tell(attempt: Attempt, failure: FailureNote | undefined): Promise<void> {
  const { worker, state, config, story, number } = attempt;
  const telling = tellBreakers(worker, { state, config, story: story.id, attempt: number, failure });
  await telling.catch((error: unknown) => worker.log.warn({ err: error }, 'the breakers could not be told'));
}

/** Another worker does the attempt again, and knows that this one did not die of it. */
async function giveBack(attempt: Attempt): Promise<void> {
  const { worker, runId, story, number } = attempt;
  const giving = worker.store.transact(runId, (state) => {
    refuseOvertaken(state, attempt);
    return { entries: [{ type: 'story.returned', story: story.id, attempt: number }], result: undefined };
  });
  await giving.catch((error: unknown) => worker.log.info({ runId, err: error }, 'the story could not be handed back'));
}

function isPersons(reason: unknown): boolean {
  return reason instanceof HaloError && reason.code === 'RUN_ABORTED';
}
