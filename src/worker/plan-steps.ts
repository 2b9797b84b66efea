import { HaloError } from '../core/failure/errors.ts';
import type { ModelApi } from '../core/model-api.ts';
import type { RegistryName } from '../core/network.ts';
import type { ModelRoute } from '../gateway/model/model-route.ts';
import { openAllowance } from './network/attempt-budget.ts';
import type { Attempt } from './attempt-context.ts';
import { readAuthorities } from './authorities.ts';
import { authoritiesIn } from './carry.ts';
import { cassetteIn } from './cassette-file.ts';
import { openChannel, type ChannelOptions, type ChannelPlace } from './network/channel.ts';
import { EGRESS_PORT, MODEL_PORT } from './workspace/sandbox-paths.ts';
import { clientSettings, WITHOUT_RETRIES } from './network/registry-client-env.ts';
import type { Step, Way } from './workspace.ts';

/** The commands of an attempt, in order: setup and agent in the work tree, setup and gates in the clean one. */
export function planSteps(attempt: Attempt): { workSteps: Step[]; cleanSteps: Step[] } {
  const { config } = attempt;
  const setup = config.setup.map((): Step => setupStep(attempt));
  return {
    workSteps: [...setup, agentStep(attempt)],
    cleanSteps: [
      ...setup,
      ...(config.gates ?? []).map((): Step => ({ phase: 'gate', env: unreached(attempt), judges: true })),
    ],
  };
}

/** Setup may reach what the configuration allows, and has no way out at all when it allows nothing. */
function setupStep(attempt: Attempt): Step {
  const { allow, registries, mayBePrivate, caFile = attempt.worker.caFile } = attempt.config.network;
  if (allow.length === 0 && registries.length === 0) return { phase: 'setup', env: unreached(attempt) };
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  const trusted = caFile === undefined ? {} : { caFile };
  return {
    phase: 'setup',
    env: {
      ...(allow.length === 0 ? {} : sameFor(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'], proxy)),
      ...(allow.length === 0 ? {} : sameFor(['NO_PROXY', 'no_proxy'], '127.0.0.1,localhost')),
      ...(caFile === undefined ? {} : sameFor(CA_VARIABLES, authoritiesIn(attempt.channel))),
    },
    openWay: () => openWay(attempt, { names: registries, port: EGRESS_PORT }, { allow, mayBePrivate, ...trusted }),
  };
}

/** Variables of a command that reaches no registry; the user's own go before. */
function unreached({ config }: Attempt): Record<string, string> {
  return { ...WITHOUT_RETRIES, ...config.env };
}

interface Mirrors {
  names: readonly RegistryName[];
  /** On which the sandbox finds its gateway. */
  port: number;
}

/** A channel with the mirrors of registries, and what tells the clients of them. */
async function openWay(
  attempt: Attempt,
  { names, port }: Mirrors,
  options: Omit<ChannelOptions, 'port'>,
): Promise<Way> {
  const { network } = attempt.config;
  const { caFile = attempt.worker.caFile } = network;
  if (names.length === 0)
    return { channel: await openChannel(channelPlace(attempt), { ...options, port }), env: {}, script: '' };
  const registries = await attempt.worker.findRoutes(names, network);
  const trusted = caFile === undefined ? {} : { authorities: await readAuthorities(caFile) };
  const channel = await openChannel(channelPlace(attempt), { ...options, port, registries, ...trusted });
  return { channel, ...clientSettings(registries, port) };
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

/** The agent may reach its model, and those registries that are allowed to it by name. */
function agentStep(attempt: Attempt): Step {
  const { env } = attempt.launch;
  const { model, network } = attempt.config;
  const names = network.agentRegistries;
  const known = names.length === 0 ? { ...unreached(attempt), ...env } : env;
  if (model.api === undefined && names.length === 0) return { phase: 'agent', env: known };
  return {
    phase: 'agent',
    env: known,
    openWay: async () => {
      const route = model.api === undefined ? {} : { model: await modelRoute(attempt, model.api) };
      return openWay(attempt, { names, port: MODEL_PORT }, route);
    },
  };
}

async function modelRoute(attempt: Attempt, api: ModelApi): Promise<ModelRoute> {
  const { mode, baseUrl, name, allow, timing } = attempt.config.model;
  const key = mode === 'replay' ? undefined : await attempt.worker.modelKey(attempt.config.model);
  const { masker } = attempt.worker;
  const route = {
    mode,
    api,
    baseUrl,
    key,
    token: attempt.modelKey,
    models: [name, ...allow],
    cassette: cassettePath(attempt),
    timed: timing === 'recorded',
    masker,
  };
  // A cassette answers at no cost.
  return mode === 'replay' ? route : { ...route, allowance: await openAllowance(attempt) };
}

/** Recorded beside the attempt's other artifacts; replayed from the configured folder, one file a story. */
function cassettePath(attempt: Attempt): string {
  const { cassettes, mode } = attempt.config.model;
  if (mode !== 'replay') return attempt.worker.store.artifactPath(attempt.place, 'cassette.jsonl');
  if (cassettes === undefined) {
    throw new HaloError('CASSETTE_MISSING', 'the model is to be replayed, but [model] cassettes names no folder');
  }
  return cassetteIn(cassettes, { id: attempt.story.id, key: attempt.key });
}

function channelPlace({ worker, runId, epoch }: Attempt): ChannelPlace {
  return { home: worker.home, runId, epoch };
}
