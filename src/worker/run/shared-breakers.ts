import type { Config } from '../../config/config.ts';
import {
  admitTrial,
  afterFailure,
  CLOSED_BREAKER,
  type Breaker,
  type FailureSign,
} from '../../core/failure/breaker.ts';
import { countsForBreaker } from '../../core/failure/failure.ts';
import type { AttemptRef, FailureNote } from '../../core/journal/event-parts.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { attemptName } from '../../core/journal/fold-failures.ts';
import { isAttemptDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { defined } from '../../lib/guards.ts';
import type { WorkerContext } from '../worker-context.ts';

type BreakerQuery = AttemptRef & { state: RunState; config: Config };

/** Whether a shared breaker blocks an attempt. If so, records in the journal until when, unless the run has changed. */
export async function isBlockedByBreaker(
  worker: Pick<WorkerContext, 'breakers' | 'now' | 'store'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<boolean> {
  const { story, attempt } = planned;
  // A running attempt has passed the breakers; a waiting one asks when its time has come.
  if (story.progress === 'in_progress' || !isAttemptDue(planned, worker.now())) return false;
  // An approved story needs no agent.
  if (story.approved !== undefined) return false;
  const { changes, held } = await askBreakers(worker, { state, config, story: story.id, attempt });
  if (changes.length > 0) await worker.store.append(state.runId, changes);
  if (held === undefined) return false;
  await worker.store.transact(state.runId, (current) => ({
    entries: isStillPlanned(current, planned) ? [held] : [],
    result: undefined,
  }));
  return true;
}

/**
 * Asks the shared breakers before an attempt starts. Returns the journal entries of those whose trial it is, and that of an
 * attempt that has to wait.
 */
async function askBreakers(
  { breakers, now }: Pick<WorkerContext, 'breakers' | 'now'>,
  { state, config, story, attempt }: BreakerQuery,
): Promise<{ changes: JournalEntry[]; held?: JournalEntry }> {
  const who = storyName(state, story);
  const askedAt = Date.parse(state.askedAt);
  const changes: JournalEntry[] = [];
  for (const key of keysOf(state, config)) {
    if ((await breakers.read(key)).status === 'closed') continue;
    const { answer, before } = await breakers.update(key, (before) => {
      const answer = admitTrial(before, { who, now: now(), policy: config.breaker, askedAt });
      return { breaker: answer.admitted ? answer.breaker : before, result: { answer, before } };
    });
    if (!answer.admitted) {
      const notBefore = new Date(answer.until).toISOString();
      return { changes, held: { type: 'breaker.held', story, attempt, key, why: answer.reason, notBefore } };
    }
    if (answer.breaker.trial !== before.trial)
      changes.push({ type: 'breaker.changed', story, attempt, key, status: answer.breaker.status });
  }
  return { changes };
}

/** The failure classes that count for a repository's breaker. */
const OF_REPOSITORY: readonly FailureNote['class'][] = ['agent', 'story', 'gate', 'tests', 'policy', 'environment'];

/** The failure classes that imply that the model answered. */
const ANSWERED: readonly FailureNote['class'][] = ['story', 'gate', 'tests', 'policy'];

/**
 * Reports the end of an attempt to the shared breakers, and records those that it opened or closed. `failure` is undefined
 * if its story landed or waits for approval.
 */
export async function updateBreakers(
  worker: Pick<WorkerContext, 'breakers' | 'now' | 'store'>,
  { state, config, story, attempt, failure }: BreakerQuery & { failure: FailureNote | undefined },
): Promise<void> {
  const who = storyName(state, story);
  const changes: JournalEntry[] = [];
  for (const key of keysOf(state, config)) {
    const change = { type: 'breaker.changed' as const, story, attempt, key };
    const ofProvider = key.startsWith(PROVIDER);
    const failed = failure !== undefined && (ofProvider ? isProviders(failure) : isOfRepository(failure));
    // A provider works if its model answered.
    const worked = failure === undefined || (ofProvider && ANSWERED.includes(failure.class));
    if (failed) {
      // Per story of a repository only the last failure counts, so that one bad story does not block the others.
      const by = ofProvider ? `${state.runId}/${attemptName(story, attempt)}` : who;
      const opened = await recordFailure(worker, { key, who, sign: signOf(failure, by, ofProvider), config });
      if (opened !== undefined) changes.push({ ...change, status: 'open', ...defined({ why: opened.reason }) });
    } else if (worked) {
      const before = await worker.breakers.read(key);
      if (before !== CLOSED_BREAKER) await worker.breakers.reset(key);
      if (before.status !== 'closed') changes.push({ ...change, status: 'closed' });
    }
  }
  if (changes.length > 0) await worker.store.append(state.runId, changes);
}

function isOfRepository({ class: of, cause }: FailureNote): boolean {
  return OF_REPOSITORY.includes(of) && countsForBreaker(cause);
}

function isProviders({ class: failureClass }: FailureNote): boolean {
  return failureClass === 'provider';
}

/** For a provider, unchanged files are not a sign of a repeated failure. */
function signOf({ sign: { error, changed, denied, kind } }: FailureNote, by: string, ofProvider: boolean): FailureSign {
  // `output` is left out, because its size differs between stories.
  return { by, error, denied, kind, changed: ofProvider ? undefined : changed };
}

/** Returns the breaker if the failure opened it. */
function recordFailure(
  { breakers, now }: Pick<WorkerContext, 'breakers' | 'now'>,
  { key, who, sign, config }: { key: string; who: string; sign: FailureSign; config: Config },
): Promise<Breaker | undefined> {
  return breakers.update(key, (before) => {
    const breaker = afterFailure(before, { who, sign, now: now(), policy: config.breaker });
    return { breaker, result: breaker.status === 'open' && before.status !== 'open' ? breaker : undefined };
  });
}

const PROVIDER = 'provider:';

/** The name of the breaker of a provider. */
export function providerBreaker({ baseUrl }: Pick<Config['model'], 'baseUrl'>): string {
  return `${PROVIDER}${new URL(baseUrl).host}`;
}

function keysOf({ repo }: RunState, { model }: Config): string[] {
  const live = model.api !== undefined && model.mode !== 'replay';
  return [`repository:${repo.mirror}`, ...(live ? [providerBreaker(model)] : [])];
}

function storyName({ runId }: RunState, story: string): string {
  return `${runId}/${story}`;
}
