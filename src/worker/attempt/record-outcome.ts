import { configsInOrder } from '../../config/choice/choose-agent.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isTestPath } from '../../core/review/review.ts';
import { judgeFailure } from '../../core/failure/judge-failure.ts';
import { postponeAttempt } from '../../core/failure/model-pause.ts';
import type { AttemptRef, FailureNote } from '../../core/journal/event-parts.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { releaseHeldCommit } from '../../git/commit/held-commits.ts';
import { storyOf, type RunState } from '../../core/run/state.ts';
import { findCandidate, findOpenModel, type FoundPause } from '../network/model-pauses.ts';
import { updateBreakers } from '../run/shared-breakers.ts';
import type { Attempt } from './open-attempt.ts';
import { storyEnded, type AgentMeasurements, type AttemptOutcome } from './attempt-outcome.ts';
import type { WorkerContext } from '../worker-context.ts';
import { assertCurrent } from './attempt-journal.ts';
import { defined } from '../../lib/guards.ts';
import { formatConfigDuration } from '../../lib/units.ts';

/** The parts of an attempt that its outcome depends on. */
interface RecordedAttempt extends Pick<Attempt, 'identity' | 'inputs' | 'config' | 'journal' | 'signal'> {
  worker: Pick<WorkerContext, 'store' | 'breakers' | 'budgetLedger' | 'now' | 'log'>;
  resources: Pick<Attempt['resources'], 'mirrorDir'>;
}

/** A pause that an attempt waits for, and a sentence about it. */
type ModelWait = Pick<FoundPause, 'pause' | 'why'>;

/** Writes the outcome of an attempt into the journal, unless landing has written it already, and updates the breakers. */
export async function recordOutcome(
  attempt: RecordedAttempt,
  outcome: AttemptOutcome,
  measured: AgentMeasurements,
): Promise<void> {
  const failure = outcome.commit === undefined ? await recordEnd(attempt, outcome, measured) : undefined;
  // A pause says nothing about the repository or the provider.
  if (failure === 'postponed') return;
  const { resources, identity } = attempt;
  // Approved work says nothing about the agent: none has run.
  const { approved, kept } = storyOf(attempt.inputs.state, identity.story);
  if (approved === undefined) await reportToBreakers(attempt, failure);
  const isUsed =
    approved === undefined ? kept !== undefined && outcome.verdict === 'passed' : outcome.held === undefined;
  if (isUsed) await releaseHeldCommit(resources.mirrorDir, identity.runId, identity.storyKey);
}

/** Records that an attempt ended without an outcome, and why. */
export async function recordInterruption(attempt: RecordedAttempt, { usage }: AgentMeasurements): Promise<void> {
  const { signal, journal } = attempt;
  if (isUserAbort(signal.reason)) await journal.report({ type: 'story.stopped', usage });
  else if (signal.aborted) await recordReturn(attempt);
}

/** Also keeps the log for the next attempt and the debug bundle. */
async function recordEnd(
  attempt: RecordedAttempt,
  outcome: AttemptOutcome,
  measured: AgentMeasurements,
): Promise<FailureNote | 'postponed' | undefined> {
  const { worker, identity, config, signal } = attempt;
  const { runId, location } = identity;
  // The user who cancelled it has recorded the outcome already, or the job goes back to the queue.
  if (outcome.stopReason === 'USER_ABORT') throw signal.reason;
  if (outcome.tail !== undefined) await worker.store.writeArtifact(location, 'failure.log', outcome.tail);
  const attemptRef = { story: identity.story, attempt: identity.attempt };
  const { usage, files, ...signs } = measured;
  const testOnly = files?.every(({ path }) => isTestPath(path));
  const end = { ...outcome, usage };
  const { pause } = outcome;
  const wait = pause && (await shortenWait(attempt, { pause, why: outcome.summary }));
  return worker.store.transact<FailureNote | 'postponed' | undefined>(runId, (state) => {
    assertCurrent(state, identity);
    const [now, maxWaitMs] = [worker.now(), config.retry.maxWaitMs];
    const at = new Date(now).toISOString();
    const postponed = wait && postponeAttempt(state, { ...attemptRef, ...wait }, { maxWaitMs, now: at });
    if (postponed !== undefined) return { entries: [postponed], result: 'postponed' };
    const { verdict } = outcome;
    if (verdict !== 'failed') {
      const ended = storyEnded(attemptRef, withQuestion(end, config, now), { verdict });
      return { entries: [ended, ...sendBack(attemptRef, outcome)], result: undefined };
    }
    if (outcome.lostSession) {
      const { name: model } = config.model;
      const why = `The agent could not continue its session, and begins a new one: ${outcome.summary}`;
      const again = { type: 'story.postponed', ...attemptRef, model, by: 'session', why, notBefore: at } as const;
      return { entries: [again], result: 'postponed' };
    }
    const ended = pause === undefined ? outcome : waitTooLong(outcome, maxWaitMs);
    const failed = { ...attemptRef, ...signs, testOnly, ...ended };
    const { failure, entries } = judgeFailure(state, failed, { policies: config, now });
    const moved =
      failure.class === 'provider' ? moveOn(state, attempt, { ...attemptRef, why: outcome.summary, at }) : [];
    if (moved.length > 0) return { entries: moved, result: failure };
    return {
      entries: [storyEnded(attemptRef, { ...ended, usage }, { verdict, failure }), ...entries],
      result: failure,
    };
  });
}

/** The entry with which another agent of `fallback` begins the attempt again; none if all have failed. */
function moveOn(
  state: RunState,
  { config }: Pick<RecordedAttempt, 'config'>,
  { story, attempt, why, at }: AttemptRef & { why: string; at: string },
): JournalEntry[] {
  const { agent, model, fallback } = config;
  const left = [agent, ...(storyOf(state, story).left ?? []).map((each) => each.agent)];
  const next = fallback.find((each) => !left.includes(each));
  if (next === undefined) return [];
  const [first = ''] = why.split('\n');
  const says = beginsAgain(first.replace(/\.?$/, '.'), `agent "${next}"`);
  return [
    {
      type: 'story.postponed',
      story,
      attempt,
      model: model.name,
      by: 'provider',
      why: says,
      notBefore: at,
      left: agent,
    },
  ];
}

/** Until when an attempt waits whose model has a pause: if its run has other models, until the first one has none. */
async function shortenWait(attempt: RecordedAttempt, wait: ModelWait): Promise<ModelWait> {
  const { worker, config, inputs } = attempt;
  const { pause, why } = wait;
  const { name, fallback } = config.model;
  const { budgetLedger: ledger } = worker;
  // Another model that the agent uses has no fallback.
  if (ledger === undefined || pause.model !== name) return wait;
  const next = await findOtherAgent(attempt);
  const moved =
    next === undefined
      ? undefined
      : {
          pause: { ...pause, until: new Date(worker.now()).toISOString() },
          why: beginsAgain(why, `agent "${next}"`),
        };
  if (fallback.length === 0) return moved ?? wait;
  const facts = { state: inputs.state, config, now: worker.now };
  const found = await findOpenModel(ledger, fallback, facts).catch((error: unknown) => {
    worker.log.warn({ err: error }, 'pauses of other models could not be read');
    return undefined;
  });
  if (found === undefined) return wait;
  if (!('model' in found)) {
    if (moved !== undefined) return moved;
    return found.paused.pause.until < pause.until ? found.paused : wait;
  }
  const until = new Date(worker.now()).toISOString();
  return { pause: { ...pause, until }, why: beginsAgain(why, `model "${found.model}"`) };
}

function beginsAgain(why: string, what: string): string {
  return `${why} The attempt begins again with the ${what}.`;
}

/** The agent of `fallback` that would begin the attempt again, if the provider of one works. */
async function findOtherAgent({ worker, config, inputs, identity }: RecordedAttempt): Promise<string | undefined> {
  const { left = [] } = storyOf(inputs.state, identity.story);
  const others = configsInOrder(config, [config.agent, ...left.map(({ agent }) => agent)]);
  for (const other of others) {
    if (other.agent === config.agent) continue;
    if ('model' in (await findCandidate(worker, { state: inputs.state, config: other }))) return other.agent;
  }
  return undefined;
}

/** The feedback of a reviewer, with which the next attempt begins. */
function sendBack(attemptRef: AttemptRef, { held, sentBack }: AttemptOutcome): JournalEntry[] {
  if (held === undefined || sentBack === undefined) return [];
  return [{ type: 'feedback.given', ...attemptRef, commit: held.commit, by: 'halo', source: 'reviewer', ...sentBack }];
}

/** The end of an attempt with what belongs to its question, if it asks one. `now`: ms since 1970. */
function withQuestion(end: AttemptOutcome, { answers }: RecordedAttempt['config'], now: number): AttemptOutcome {
  const { verdict, held, options, cause } = end;
  if (verdict !== 'needs_human' || held !== undefined) return end;
  const { deadlineMs, default: unanswered } = answers;
  const limit = deadlineMs === undefined ? {} : { until: new Date(now + deadlineMs).toISOString(), unanswered };
  const question = { ...defined({ options, cause }), ...limit };
  return Object.keys(question).length === 0 ? end : { ...end, question };
}

/** The failure of an attempt that would have to wait for longer than `retry.max_wait`. */
function waitTooLong(outcome: AttemptOutcome, maxWaitMs: number): AttemptOutcome {
  const summary = `${outcome.summary} An attempt waits at most ${formatConfigDuration(maxWaitMs)} (retry.max_wait).`;
  return { ...outcome, cause: 'pause-too-long', summary };
}

/** The outcome is in the journal: a failure here does not change it. */
async function reportToBreakers(
  { worker, identity, inputs, config }: RecordedAttempt,
  failure: FailureNote | undefined,
): Promise<void> {
  const { story, attempt } = identity;
  const updating = updateBreakers(worker, { state: inputs.state, config, story, attempt, failure });
  await updating.catch((error: unknown) => worker.log.warn({ err: error }, 'breaker update failed'));
}

/** Hands the story back, so that its next start does not count as a crash of this worker. */
async function recordReturn({ worker, identity }: RecordedAttempt): Promise<void> {
  const { runId, story, attempt } = identity;
  const returning = worker.store.transact(runId, (state) => {
    assertCurrent(state, identity);
    return { entries: [{ type: 'story.returned', story, attempt }], result: undefined };
  });
  await returning.catch((error: unknown) => worker.log.info({ runId, err: error }, 'story could not be handed back'));
}

function isUserAbort(reason: unknown): boolean {
  return reason instanceof HaloError && reason.code === 'RUN_ABORTED';
}
