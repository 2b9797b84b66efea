import type { Config } from '../../config/config.ts';
import { admitTrial, afterFailure, CLOSED_BREAKER, type FailureSign } from '../../core/failure/breaker.ts';
import type { AttemptRef, FailureNote, JournalEntry } from '../../core/journal/events.ts';
import { attemptName } from '../../core/journal/fold-failures.ts';
import { isDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import type { WorkerContext } from '../worker-context.ts';

type BreakerQuery = AttemptRef & { state: RunState; config: Config };

/** Whether a shared breaker blocks an attempt. If so, records in the journal until when, unless the run has changed. */
export async function isBlockedByBreaker(
  worker: Pick<WorkerContext, 'breakers' | 'now' | 'store'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<boolean> {
  const { story, attempt } = planned;
  // A running attempt has passed the breakers; a waiting one asks when its time has come.
  if (story.progress === 'in_progress' || !isDue(planned, worker.now())) return false;
  // An approved story needs no agent.
  if (story.approved !== undefined) return false;
  const held = await findOpenBreaker(worker, { state, config, story: story.id, attempt });
  if (held === undefined) return false;
  await worker.store.transact(state.runId, (current) => ({
    entries: isStillPlanned(current, planned) ? [held] : [],
    result: undefined,
  }));
  return true;
}

/**
 * Asks the shared breakers before an attempt starts. Returns the journal entry of an attempt that has to wait; undefined if
 * it may start.
 */
async function findOpenBreaker(
  { breakers, now }: Pick<WorkerContext, 'breakers' | 'now'>,
  { state, config, story, attempt }: BreakerQuery,
): Promise<JournalEntry | undefined> {
  const who = storyName(state, story);
  const askedAt = state.askedAt === undefined ? undefined : Date.parse(state.askedAt);
  for (const key of keysOf(state, config)) {
    if ((await breakers.read(key)).status === 'closed') continue;
    const answer = await breakers.update(key, (before) => {
      const asked = admitTrial(before, { who, now: now(), policy: config.breaker, askedAt });
      return { breaker: asked.admitted ? asked.breaker : before, result: asked };
    });
    if (answer.admitted) continue;
    const notBefore = new Date(answer.until).toISOString();
    return { type: 'breaker.held', story, attempt, key, why: answer.reason, notBefore };
  }
  return undefined;
}

/** The failure classes that count for a repository's breaker. */
const OF_REPOSITORY: readonly FailureNote['class'][] = ['agent', 'story', 'gate', 'tests', 'policy', 'environment'];

/** The failure classes that imply that the model answered. */
const ANSWERED: readonly FailureNote['class'][] = ['story', 'gate', 'tests', 'policy'];

/** Reports the end of an attempt to the shared breakers. `failure` is undefined if its story landed or waits for approval. */
export async function updateBreakers(
  worker: Pick<WorkerContext, 'breakers' | 'now'>,
  { state, config, story, attempt, failure }: BreakerQuery & { failure: FailureNote | undefined },
): Promise<void> {
  const who = storyName(state, story);
  for (const key of keysOf(state, config)) {
    const ofProvider = key.startsWith(PROVIDER);
    const failed = failure !== undefined && (ofProvider ? isProviders(failure) : OF_REPOSITORY.includes(failure.class));
    // A provider works if its model answered.
    const worked = failure === undefined || (ofProvider && ANSWERED.includes(failure.class));
    if (failed) {
      // Per story of a repository only the last failure counts, so that one bad story does not block the others.
      const by = ofProvider ? `${state.runId}/${attemptName(story, attempt)}` : who;
      await recordFailure(worker, { key, who, sign: signOf(failure, by, ofProvider), config });
    } else if (worked && (await worker.breakers.read(key)) !== CLOSED_BREAKER) await worker.breakers.reset(key);
  }
}

function isProviders({ class: failureClass }: FailureNote): boolean {
  return failureClass === 'provider';
}

/** For a provider, unchanged files are not a sign of a repeated failure. */
function signOf({ sign: { error, changed, denied, kind } }: FailureNote, by: string, ofProvider: boolean): FailureSign {
  // `output` is left out, because its size differs between stories.
  return { by, error, denied, kind, changed: ofProvider ? undefined : changed };
}

async function recordFailure(
  { breakers, now }: Pick<WorkerContext, 'breakers' | 'now'>,
  { key, who, sign, config }: { key: string; who: string; sign: FailureSign; config: Config },
): Promise<void> {
  await breakers.update(key, (before) => ({
    breaker: afterFailure(before, { who, sign, now: now(), policy: config.breaker }),
    result: undefined,
  }));
}

const PROVIDER = 'provider:';

function keysOf({ repo }: RunState, { model }: Config): string[] {
  const live = model.api !== undefined && model.mode !== 'replay';
  return [`repository:${repo.mirror}`, ...(live ? [`${PROVIDER}${new URL(model.baseUrl).host}`] : [])];
}

function storyName({ runId }: RunState, story: string): string {
  return `${runId}/${story}`;
}
