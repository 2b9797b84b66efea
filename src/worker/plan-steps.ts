import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';
import type { Attempt } from './attempt-context.ts';
import { openChannel, type Channel } from './channel.ts';
import { EGRESS_PORT, GATEWAY_DIR } from './places.ts';
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
function setupStep({ config, worker }: Attempt): Step {
  const { allow, caFile = worker.caFile } = config.network;
  if (allow.length === 0) return { phase: 'setup', env: {} };
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  return {
    phase: 'setup',
    env: {
      ...sameFor(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'], proxy),
      ...(caFile === undefined ? {} : sameFor(CA_VARIABLES, `${GATEWAY_DIR}/ca.pem`)),
    },
    openChannel: () => openChannel(worker.home, { allow, ...(caFile === undefined ? {} : { caFile }) }),
  };
}

/** Where the common programs look for certificate authorities: Node and npm, OpenSSL, curl, pip and requests, git, cargo. */
const CA_VARIABLES = [
  'NODE_EXTRA_CA_CERTS',
  'npm_config_cafile',
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
];

function sameFor(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
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
