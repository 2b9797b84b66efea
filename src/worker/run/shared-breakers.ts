import type { Config } from '../../config/config.ts';
import { admit, afterFailure, CLOSED, type FailureSign } from '../../core/failure/breaker.ts';
import type { AttemptRef, FailureNote, JournalEntry } from '../../core/journal/events.ts';
import { attemptName } from '../../core/fold-failure.ts';
import type { RunState } from '../../core/run-state.ts';
import type { WorkerContext } from '../worker-context.ts';

type Asked = AttemptRef & { state: RunState; config: Config };

/**
 * Asks the breakers that runs share before an attempt begins. Answers with what the journal says of an attempt that
 * has to wait; undefined: it may begin.
 */
export async function askBreakers(
  { breakers, now }: Pick<WorkerContext, 'breakers' | 'now'>,
  { state, config, story, attempt }: Asked,
): Promise<JournalEntry | undefined> {
  const who = storyName(state, story);
  const startedAt = state.ownedAt === undefined ? undefined : Date.parse(state.ownedAt);
  for (const key of keysOf(state, config)) {
    if ((await breakers.read(key)).status === 'closed') continue;
    const answer = await breakers.update(key, (before) => {
      const asked = admit(before, { who, now: now(), policy: config.breaker, startedAt });
      return { breaker: asked.admitted ? asked.breaker : before, result: asked };
    });
    if (answer.admitted) continue;
    const notBefore = new Date(answer.until).toISOString();
    return { type: 'breaker.held', story, attempt, key, why: answer.reason, notBefore };
  }
  return undefined;
}

/** Whose failures count: those of story, agent and gate say something of the repository, those of the provider of that. */
const OF_REPOSITORY: readonly FailureNote['class'][] = ['agent', 'story', 'gate', 'policy', 'environment'];

/** Before any of these the model has answered. */
const ANSWERED: readonly FailureNote['class'][] = ['story', 'gate', 'policy'];

/** Tells the shared breakers how an attempt ended; `failure` undefined: its story has landed, or waits for a person. */
export async function tellBreakers(
  worker: Pick<WorkerContext, 'breakers' | 'now'>,
  { state, config, story, attempt, failure }: Asked & { failure: FailureNote | undefined },
): Promise<void> {
  const who = storyName(state, story);
  for (const key of keysOf(state, config)) {
    const ofProvider = key.startsWith(PROVIDER);
    const failed = failure !== undefined && (ofProvider ? isProviders(failure) : OF_REPOSITORY.includes(failure.class));
    // That the model answered is all that is asked of a provider.
    const worked = failure === undefined || (ofProvider && ANSWERED.includes(failure.class));
    if (failed) {
      // Of a repository's story only the last failure counts, so that one bad story does not keep the others out.
      const by = ofProvider ? `${state.runId}/${attemptName(story, attempt)}` : who;
      await tellFailure(worker, { key, who, sign: signOf(failure, by, ofProvider), config });
    } else if (worked && (await worker.breakers.read(key)) !== CLOSED) await worker.breakers.reset(key);
  }
}

function isProviders({ class: whose }: FailureNote): boolean {
  return whose === 'provider';
}

/** An unreachable provider changes no file, but that is not what is wrong with it. */
function signOf({ sign: { error, changed, denied, kind } }: FailureNote, by: string, ofProvider: boolean): FailureSign {
  // How much an agent says differs from story to story.
  return { by, error, denied, kind, changed: ofProvider ? undefined : changed };
}

async function tellFailure(
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
