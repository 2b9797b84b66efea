import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { ModelApi } from '../../core/agent.ts';
import type { ModelRoute } from '../../gateway/model/model-route.ts';
import type { Attempt } from '../attempt/open-attempt.ts';
import { openAttemptBudget } from './attempt-budget.ts';

/** The route of an attempt to its model: a live provider with a budget, or a cassette. Throws MODEL_KEY_MISSING, CASSETTE_MISSING. */
export async function modelRoute(attempt: Attempt, api: ModelApi): Promise<ModelRoute> {
  const { mode, baseUrl, name, allow, timing } = attempt.config.model;
  const providerKeys = mode === 'replay' ? [] : await attempt.worker.readProviderKeys(attempt.config.model);
  const { masker } = attempt.worker;
  const route = {
    mode,
    api,
    baseUrl,
    providerKeys,
    gatewayToken: attempt.agent.gatewayToken,
    models: [name, ...allow],
    cassette: cassettePath(attempt),
    timed: timing === 'recorded',
    masker,
  };
  // A cassette responds at no cost.
  return mode === 'replay' ? route : { ...route, budget: await openAttemptBudget(attempt) };
}

/** Recorded among the attempt's artifacts; replayed from the configured folder, with one file per story. */
function cassettePath({ config, worker, identity, task }: Attempt): string {
  const { cassettes, mode } = config.model;
  if (mode !== 'replay') return worker.store.artifactPath(identity.location, 'cassette.jsonl');
  if (cassettes === undefined) {
    throw new HaloError('CASSETTE_MISSING', 'The model mode is replay, but [model] cassettes is not set.');
  }
  if (task !== undefined) return taskCassettePath(cassettes, identity.storyKey, task);
  return storyCassettePath(cassettes, identity.storyKey);
}

/** The path of the cassette of the agent that writes the tests of a story, or refactors or reviews its change. */
export function taskCassettePath(folder: string, storyKey: string, task: NonNullable<Attempt['task']>): string {
  return join(folder, `${storyKey}.${task}.jsonl`);
}

/** The path of a story's cassette in a folder. */
export function storyCassettePath(folder: string, storyKey: string): string {
  return join(folder, `${storyKey}.jsonl`);
}
