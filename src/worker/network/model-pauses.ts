import { configsInOrder, withModel } from '../../config/choice/choose-agent.ts';
import type { Config } from '../../config/config.ts';
import { postponeAttempt, type ModelPause } from '../../core/failure/model-pause.ts';
import type { FallbackModel } from '../../core/failure/model-use.ts';
import { isAttemptDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { defined } from '../../lib/guards.ts';
import type { BudgetLedger, LedgerPause, PauseQuery } from '../../queue/budget/budget-ledger.ts';
import type { WorkerContext } from '../worker-context.ts';
import { providerBreaker } from '../run/shared-breakers.ts';

/** Agents do not wait for longer. */
const MAX_AGENT_PAUSE_MS = 5 * 60_000;

/** What a pause depends on. `now`: the clock of this worker, in ms since 1970. */
interface PauseFacts {
  state: Pick<RunState, 'askedAt'>;
  config: Pick<Config, 'model' | 'rate' | 'limits'>;
  now: () => number;
}

/** A pause of a model, as sentences. */
export interface FoundPause {
  pause: ModelPause;
  ms: number;
  why: string;
}

/** The longest pause of a model that an agent waits for: one without output for longer than `limits.idle` is stopped. */
export function longestPauseMs({ limits }: Pick<Config, 'limits'>): number {
  return Math.min(MAX_AGENT_PAUSE_MS, limits.idleMs / 2);
}

/**
 * The first of these models without a long pause, and the pause of the first one of all, if it has one; or the pause that
 * ends first. A pause does not count if a user has submitted or retried the run since it began.
 */
export async function findOpenModel(
  ledger: BudgetLedger,
  models: readonly string[],
  { state, config, now }: PauseFacts,
): Promise<{ model: string; paused: FoundPause | undefined } | { paused: FoundPause }> {
  const pauses: FoundPause[] = [];
  for (const model of models) {
    const found = await ledger.findPause(pauseQuery({ state, config }, model));
    if (found === undefined || found.ms <= longestPauseMs(config)) return { model, paused: pauses[0] };
    // The clock is read after the answer: a pause must not end too early.
    pauses.push(describePause(model, found, now()));
  }
  return { paused: pauses.reduce((first, next) => (next.ms < first.ms ? next : first)) };
}

/** `now`: ms since 1970. */
export function describePause(model: string, { ms, why: of }: LedgerPause, now: number): FoundPause {
  const until = new Date(now + ms).toISOString();
  const who =
    of === 'cooling' ? 'The model provider' : of === 'hour' ? 'The configured rate per hour' : 'The configured rate';
  const why = `${who} allows no request to the model "${model}" yet.`;
  return { pause: { model, by: of === 'cooling' ? ('provider' as const) : ('rate' as const), until }, ms, why };
}

/** Which pauses of a model apply to a run. */
export function pauseQuery({ config, state }: Pick<PauseFacts, 'config' | 'state'>, model: string): PauseQuery {
  const { rph } = config.rate[model] ?? {};
  const since = Date.parse(state.askedAt);
  return { model: limitedName(config, model), keys: keysOf(config), since, ...defined({ rph }) };
}

/** Providers limit each model separately. */
export function limitedName({ model: { baseUrl } }: Pick<Config, 'model'>, model: string): string {
  return `${new URL(baseUrl).host}/${model}`;
}

/** The names of the keys of a run in Redis: where they come from, because nothing of a key itself may be there. */
export function keysOf({ model }: Pick<Config, 'model'>): string[] {
  return [model, ...model.keys].map(({ keyEnv, keyFile, keyCommand }, position) => {
    if (keyCommand !== undefined) return `command:${position}`;
    return keyFile === undefined ? `env:${keyEnv ?? ''}` : `file:${keyFile}`;
  });
}

/** The configuration with which an attempt starts. */
interface ChosenModel {
  config: Config;
  fallback?: FallbackModel;
}

/**
 * Chooses the first model of a run that has no long pause, of its agent or else of the next one of `fallback` whose provider
 * works. Undefined if all have one, so that an attempt would only start to be stopped again; then the journal records until
 * when the story waits. A pause that is too long for the attempt is left to the attempt, which reports it.
 */
export async function chooseModel(
  worker: Pick<WorkerContext, 'budgetLedger' | 'breakers' | 'now' | 'store' | 'log'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<ChosenModel | undefined> {
  const { story, attempt } = planned;
  // An approved story needs no agent.
  if (!isAttemptDue(planned, worker.now()) || story.approved !== undefined) return { config };
  const left = story.left ?? [];
  const paused: FoundPause[] = [];
  let why = left.at(-1)?.why;
  for (const each of configsInOrder(
    config,
    left.map(({ agent }) => agent),
  )) {
    const found = await findCandidate(worker, { state, config: each });
    if ('model' in found) return choose(config, each, { model: found.model, why: why ?? found.paused?.why });
    if (found.paused !== undefined) paused.push(found.paused);
    why ??= found.why;
  }
  // A breaker decides: it makes the story wait, or admits it as a trial.
  if (paused.length === 0) return { config };
  const first = paused.reduce((one, next) => (next.ms < one.ms ? next : one));
  const isRunning = story.progress === 'in_progress' && story.waiting === undefined;
  if (isRunning) return { config };
  const ref = { story: story.id, attempt };
  const at = new Date(worker.now()).toISOString();
  const waits = await worker.store.transact<boolean>(state.runId, (current) => {
    // The run has changed since: the job is planned again.
    if (!isStillPlanned(current, planned)) return { entries: [], result: true };
    const wait = postponeAttempt(current, { ...ref, ...first }, { maxWaitMs: config.retry.maxWaitMs, now: at });
    return wait === undefined ? { entries: [], result: false } : { entries: [wait], result: true };
  });
  return waits ? undefined : { config };
}

/** The model that an attempt with a configuration would use, or why it cannot. */
export async function findCandidate(
  { budgetLedger, breakers, now, log }: Pick<WorkerContext, 'budgetLedger' | 'breakers' | 'now' | 'log'>,
  { state, config }: { state: RunState; config: Config },
): Promise<{ model: string; paused?: FoundPause | undefined } | { paused?: FoundPause; why: string }> {
  const { api, mode, name, fallback } = config.model;
  if (api === undefined || mode === 'replay') return { model: name };
  const breaker = config.fallback.length === 0 ? undefined : await breakers.read(providerBreaker(config.model));
  if (breaker?.status === 'open' && (breaker.until ?? 0) > now() && (breaker.openedAt ?? 0) > Date.parse(state.askedAt))
    return { why: `The breaker of the provider is open: ${breaker.reason ?? 'too many failures'}.` };
  if (budgetLedger === undefined) return { model: name };
  const found = await findOpenModel(budgetLedger, [name, ...fallback], { state, config, now }).catch(
    (error: unknown) => {
      log.warn({ runId: state.runId, err: error }, 'pause of the model could not be read');
      return { model: name, paused: undefined };
    },
  );
  return 'model' in found ? found : { paused: found.paused, why: found.paused.why };
}

/** The configuration of an attempt with one of its candidates. */
function choose(
  config: Config,
  candidate: Config,
  { model, why }: { model: string; why: string | undefined },
): ChosenModel {
  const { agent } = candidate;
  const isOther = agent !== config.agent;
  if (!isOther && model === config.model.name) return { config: candidate };
  const fallback = { ...(isOther && { agent }), model, why: why ?? 'It could not be used.' };
  return { config: withModel(candidate, model), fallback };
}
