import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';
import type { Attempt } from './attempt-context.ts';
import { openChannel, type Channel } from './channel.ts';
import { EGRESS_PORT } from './places.ts';
import type { Step } from './workspace.ts';

/** The commands of an attempt, in order: setup and agent in the work tree, setup and gates in the clean one. */
export function planSteps(attempt: Attempt): { workSteps: Step[]; cleanSteps: Step[] } {
  const { config } = attempt;
  const setup = config.setup.map((): Step => setupStep(attempt));
  return {
    workSteps: [...setup, agentStep(attempt)],
    cleanSteps: [...setup, ...(config.gates ?? []).map((): Step => ({ phase: 'gate', env: {} }))],
  };
}

/** Setup may reach what the configuration allows, and has no way out at all when it allows nothing. */
function setupStep(attempt: Attempt): Step {
  const { allow } = attempt.config.network;
  if (allow.length === 0) return { phase: 'setup', env: {} };
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  return {
    phase: 'setup',
    env: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy },
    openChannel: () => openChannel(attempt.worker.home, { allow }),
  };
}

function agentStep(attempt: Attempt): Step {
  const { env } = attempt.launch;
  if (!attempt.adapter.needsModel) return { phase: 'agent', env };
  return { phase: 'agent', env, openChannel: () => openModelChannel(attempt) };
}

async function openModelChannel(attempt: Attempt): Promise<Channel> {
  const { model } = attempt.config;
  const key = model.mode === 'replay' ? undefined : attempt.worker.readSecret(model.keyEnv);
  if (model.mode !== 'replay' && key === undefined) {
    throw new HaloError('MODEL_KEY_MISSING', `the worker’s environment holds no ${model.keyEnv}`, {
      hint: `export ${model.keyEnv} where the worker starts, or set [model] key_env`,
    });
  }
  return openChannel(attempt.worker.home, {
    model: { mode: model.mode, baseUrl: model.baseUrl, key, cassette: cassettePath(attempt) },
  });
}

/** Recorded beside the attempt's other artifacts; replayed from the configured folder, one file a story. */
function cassettePath(attempt: Attempt): string {
  const { cassettes, mode } = attempt.config.model;
  if (mode !== 'replay') return attempt.worker.store.artifactPath(attempt.place, 'cassette.jsonl');
  if (cassettes === undefined) {
    throw new HaloError('CASSETTE_MISSING', 'the model is to be replayed, but [model] cassettes names no folder');
  }
  return join(cassettes, `${attempt.key}.jsonl`);
}
