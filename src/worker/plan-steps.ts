import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';
import type { ModelApi } from '../core/model-api.ts';
import type { Attempt } from './attempt-context.ts';
import { openChannel, type Channel, type ChannelPlace } from './channel.ts';
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
function setupStep(attempt: Attempt): Step {
  const { allow, caFile = attempt.worker.caFile } = attempt.config.network;
  if (allow.length === 0) return { phase: 'setup', env: {} };
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  return {
    phase: 'setup',
    env: {
      ...sameFor(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'], proxy),
      ...(caFile === undefined ? {} : sameFor(CA_VARIABLES, `${GATEWAY_DIR}/ca.pem`)),
    },
    openChannel: () => openChannel(channelPlace(attempt), { allow, ...(caFile === undefined ? {} : { caFile }) }),
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
  const { api } = attempt.config.model;
  if (api === undefined) return { phase: 'agent', env };
  return { phase: 'agent', env, openChannel: () => openModelChannel(attempt, api) };
}

async function openModelChannel(attempt: Attempt, api: ModelApi): Promise<Channel> {
  const { mode, baseUrl, name, allow } = attempt.config.model;
  const key = mode === 'replay' ? undefined : await attempt.worker.modelKey(attempt.config.model);
  const models = [name, ...allow];
  return openChannel(channelPlace(attempt), {
    model: { mode, api, baseUrl, key, models, cassette: cassettePath(attempt), masker: attempt.worker.masker },
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

function channelPlace({ worker, runId, epoch }: Attempt): ChannelPlace {
  return { home: worker.home, runId, epoch };
}
