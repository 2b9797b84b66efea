import type { Config } from '../../config/config.ts';
import { postponeAttempt, type ModelPause } from '../../core/failure/model-pause.ts';
import type { FallbackModel } from '../../core/failure/model-use.ts';
import { isAttemptDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { defined } from '../../lib/guards.ts';
import type { BudgetLedger, LedgerPause, PauseQuery } from '../../queue/budget/budget-ledger.ts';
import type { WorkerContext } from '../worker-context.ts';

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

/** The configuration of an attempt with one of the models of its run. */
export function withModel(config: Config, name: string): Config {
  const { model } = config;
  if (name === model.name) return config;
  const others = [model.name, ...model.fallback].filter((each) => each !== name);
  return { ...config, model: { ...model, name, fallback: others } };
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
 * Chooses the first model of a run that has no long pause. Undefined if all have one, so that an attempt would only start
 * to be stopped again; then the journal records until when the story waits. A pause that is too long for the attempt is
 * left to the attempt, which reports it.
 */
export async function chooseModel(
  worker: Pick<WorkerContext, 'budgetLedger' | 'now' | 'store' | 'log'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<ChosenModel | undefined> {
  const { story, attempt } = planned;
  // An approved story needs no agent.
  if (!isAttemptDue(planned, worker.now()) || story.approved !== undefined) return { config };
  const { api, mode, name, fallback } = config.model;
  if (worker.budgetLedger === undefined || api === undefined || mode === 'replay') return { config };
  const finding = findOpenModel(worker.budgetLedger, [name, ...fallback], { state, config, now: worker.now });
  const found = await finding.catch((error: unknown) => {
    worker.log.warn({ runId: state.runId, err: error }, 'pause of the model could not be read');
    return undefined;
  });
  if (found === undefined) return { config };
  const { paused } = found;
  if ('model' in found) {
    if (paused === undefined) return { config };
    return { config: withModel(config, found.model), fallback: { model: found.model, why: paused.why } };
  }
  const isRunning = story.progress === 'in_progress' && story.waiting === undefined;
  if (isRunning) return { config };
  const ref = { story: story.id, attempt };
  const at = new Date(worker.now()).toISOString();
  const waits = await worker.store.transact<boolean>(state.runId, (current) => {
    // The run has changed since: the job is planned again.
    if (!isStillPlanned(current, planned)) return { entries: [], result: true };
    const wait = postponeAttempt(current, { ...ref, ...found.paused }, { maxWaitMs: config.retry.maxWaitMs, now: at });
    return wait === undefined ? { entries: [], result: false } : { entries: [wait], result: true };
  });
  return waits ? undefined : { config };
}
