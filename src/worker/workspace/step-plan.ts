import { mountSession } from './story-session.ts';
import { mountVersion } from './agent-mount.ts';
import { rootCertificates } from 'node:tls';
import type { Config } from '../../config/config.ts';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import type { Attempt, SandboxContext } from '../attempt/open-attempt.ts';
import { caFileInSandbox, openChannel, type ChannelOptions, type ChannelOwner } from '../network/channel.ts';
import { readConnectionOptions } from '../network/machine-connections.ts';
import { createCertificateAuthority } from '../../lib/network/certificate-authority.ts';
import { gitClientEnv } from '../../gateway/git-proxy.ts';
import { modelRoute } from '../network/model-access.ts';
import { EGRESS_PORT, MODEL_PORT } from './sandbox-paths.ts';
import { clientSettings, WITHOUT_RETRIES } from '../network/registry-client-env.ts';
import type { ServiceAccess, ServiceUser } from './step-services.ts';
import type { Step, StepEgress } from './workspace.ts';
import { defined } from '../../lib/guards.ts';

/** What decides how commands reach the network. */
export interface StepContext extends Pick<SandboxContext, 'config' | 'identity'> {
  worker: Pick<
    SandboxContext['worker'],
    'home' | 'env' | 'caFile' | 'findRoutes' | 'readCredentials' | 'registryCache'
  >;
  resources: Pick<SandboxContext['resources'], 'channel'>;
}

/** The commands of the work tree, in order: setup, the agent that writes `tests` first, and the agent. */
export function planWorkSteps(attempt: Attempt, tests?: Attempt): Step[] {
  return [...planSetup(attempt), ...(tests === undefined ? [] : [agentStep(tests)]), agentStep(attempt)];
}

/** The only command of a dry run: the agent, which can read the work tree, but not change it. */
export function planReadingSteps(attempt: Attempt): Step[] {
  return [{ ...agentStep(attempt), readOnly: true }];
}

/** The commands of the clean tree, in order: setup and the gates. */
export function planCleanSteps(context: StepContext): Step[] {
  const gates = context.config.gates ?? [];
  const env = offlineEnv(context.config);
  return [...planSetup(context), ...gates.map((): Step => ({ phase: 'gate', env, judges: true, services: 'gates' }))];
}

/** The setup commands, in order. */
export function planSetup(context: StepContext): Step[] {
  return context.config.setup.map(() => setupStep(context));
}

/** What a person looks around with, in the place of a gate or of the agent: with the environment of a gate, and no keys. */
export function debugStep({ config }: StepContext, user: ServiceUser): Step {
  const ofGate = user === 'gates' ? { judges: true as const } : {};
  return { phase: 'debug', env: offlineEnv(config), services: user, ...ofGate };
}

/** A command with the environment of a gate, beside services that run already. */
export function besideStep(phase: string, { config }: StepContext, { mounts, forwards }: ServiceAccess): Step {
  return { phase, env: offlineEnv(config), mounts, forwards };
}

/** Setup may reach the hosts and registries that the configuration allows; without any, it has no network. */
function setupStep(context: StepContext): Step {
  const { config, worker, resources } = context;
  const { allow, registries, git, credentials, private: mayBePrivate, caFile = worker.caFile } = config.network;
  if (allow.length === 0 && registries.length === 0 && git.length === 0)
    return { phase: 'setup', env: offlineEnv(config) };
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  const trusted = defined({ caFile });
  const isProxied = allow.length > 0 || registries.length > 0;
  return {
    phase: 'setup',
    env: {
      ...(allow.length === 0 ? {} : setAll(['HTTP_PROXY', 'http_proxy'], proxy)),
      // For the URLs of registries in lockfiles, too.
      ...(isProxied ? setAll(['HTTPS_PROXY', 'https_proxy'], proxy) : {}),
      ...(isProxied ? setAll(['NO_PROXY', 'no_proxy'], '127.0.0.1,localhost') : {}),
      ...(allow.length === 0 ? {} : { JAVA_TOOL_OPTIONS }),
      ...gitClientEnv(git, EGRESS_PORT),
      ...(caFile === undefined && registries.length === 0
        ? {}
        : setAll(CA_VARIABLES, caFileInSandbox(resources.channel))),
    },
    openEgress: async () => {
      const repositories =
        git.length === 0 ? {} : { git: { urls: git, credentials: await worker.readCredentials(credentials) } };
      const options = { allow, mayBePrivate, ...trusted, ...repositories, ...ownAuthority(config.network) };
      return openEgress(context, { names: registries, port: EGRESS_PORT }, options);
    },
  };
}

/** The JVM reads no variable of proxies. */
const JAVA_TOOL_OPTIONS = ['http', 'https']
  .map((scheme) => `-D${scheme}.proxyHost=127.0.0.1 -D${scheme}.proxyPort=${EGRESS_PORT}`)
  .join(' ');

/** The authority whose certificates identify registries in the tunnels of a gateway, and what programs trust then. */
function ownAuthority({ registries, allow }: Config['network']): Pick<ChannelOptions, 'authority' | 'certificates'> {
  if (registries.length === 0) return {};
  const authority = createCertificateAuthority('halo gateway');
  // Some programs trust only this file, and need the common authorities for the allowed hosts.
  const common = allow.length === 0 ? [] : rootCertificates;
  return { authority, certificates: `${[...common, authority.certificate].join('\n')}\n` };
}

/** The variables of a command without registries; the user's own take precedence. */
function offlineEnv({ env }: Config): Record<string, string> {
  return { ...WITHOUT_RETRIES, ...env };
}

interface RegistryAccess {
  names: readonly RegistryName[];
  /** The port of the gateway in the sandbox. */
  port: number;
}

/** Opens a channel with registry proxies, and the settings that point package managers to them. */
async function openEgress(
  context: StepContext,
  { names, port }: RegistryAccess,
  options: Omit<ChannelOptions, 'port'>,
): Promise<StepEgress> {
  const { network } = context.config;
  const connections = await readConnectionOptions(context.worker.env, network.caFile);
  const opened = { ...options, port, connections };
  if (names.length === 0) return { channel: await openChannel(channelPlace(context), opened), env: {}, script: '' };
  const registries = await context.worker.findRoutes(names, network);
  const archives = { cache: context.worker.registryCache, maxBytes: network.cacheBytes };
  const channel = await openChannel(channelPlace(context), { ...opened, registries, archives });
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

function setAll(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** The agent may reach its model and the registries that are allowed to agents. */
function agentStep(attempt: Attempt): Step {
  const { config, agent, session } = attempt;
  const { env, sessionDir } = agent.launch;
  const mounts = {
    mounts: [...mountVersion(config), ...(sessionDir && session ? [mountSession(session, sessionDir)] : [])],
  };
  const { model, network } = config;
  const names = network.agentRegistries;
  const known = names.length === 0 ? { ...offlineEnv(config), ...env } : env;
  if (model.api === undefined && names.length === 0)
    return { phase: 'agent', env: known, ...mounts, pipesOutput: true, services: 'agent' };
  return {
    phase: 'agent',
    env: known,
    ...mounts,
    pipesOutput: true,
    services: 'agent',
    openEgress: async () => {
      const route = model.api === undefined ? {} : { model: await modelRoute(attempt, model.api) };
      return openEgress(attempt, { names, port: MODEL_PORT }, route);
    },
  };
}

function channelPlace({ worker, identity }: StepContext): ChannelOwner {
  const { runId, epoch } = identity;
  return { home: worker.home, runId, epoch };
}
