import type { Logger } from 'pino';
import type { Config, Host } from '../config/config.ts';
import { processEnv, proxySecrets, readSecret } from '../config/environment/host.ts';
import { transcribe } from '../core/transcript/transcript.ts';
import { openRegistryCache } from '../gateway/registry/registry-cache.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { BudgetLedger } from '../queue/budget/budget-ledger.ts';
import { openDockerEngine } from '../sandbox/docker/engine.ts';
import { openEngineProbes } from '../sandbox/engine-probes.ts';
import { PROCESS_OWNED } from '../sandbox/sandbox.ts';
import { openBreakerStore } from '../store/breaker-files.ts';
import { SnapshotFiles } from '../store/snapshot-files.ts';
import { openStore } from '../store/store.ts';
import { openRegistryCredentials, openRoutes } from './network/registry-routes.ts';
import { openProviderKeys, openSecretReader } from './network/secret-reader.ts';
import { openProcessMasker } from './process-masker.ts';
import { learnSecrets } from './learn-secrets.ts';
import type { PlannedStory, WorkerContext } from './worker-context.ts';

interface WorkerParts {
  host: Host;
  homeId: string;
  log: Logger;
  masker: Masker;
  /** Cleanup that runs in the background. */
  cleaning: Set<Promise<void>>;
  shared: BudgetLedger | undefined;
  now: () => number;
  /** Which are asked before an attempt starts whether its story is not to be done any more; default: none. */
  withdrawals?: readonly ((worker: WorkerContext, planned: PlannedStory) => Promise<boolean>)[];
  /** What is called with the number of resources that a sweep removed; default: nothing. */
  afterSweep?: readonly ((home: string, count: number) => Promise<void>)[];
}

/** Creates the context of a worker and starts the isolation check of the engine in advance. */
export function createWorkerContext(parts: WorkerParts): WorkerContext {
  const { host, homeId, log, cleaning, masker, shared, now, afterSweep = [], withdrawals = [] } = parts;
  const engine = openDockerEngine();
  const env = processEnv();
  masker.learn(proxySecrets(env));
  const secretReader = openSecretReader((name) => readSecret(env, name));
  const readKeys = openProviderKeys(secretReader);
  const readCredentials = openRegistryCredentials(secretReader, (secrets) => masker.learn(secrets));
  const probes = openEngineProbes(engine, host.home);
  const reach = async ({ sandbox }: Config) => probes.canReach((await probes.isolation(sandbox.runtime)).runtime);
  // In advance of the first story, which reports a failure.
  const proving = Promise.allSettled([
    probes.canMount(),
    probes.isolation('auto').then(({ runtime }) => probes.canReach(runtime)),
  ]).then(() => void cleaning.delete(proving));
  // A worker that closes immediately still removes the probes.
  cleaning.add(proving);
  const context: WorkerContext = {
    home: host.home,
    homeId,
    breakers: openBreakerStore(host.home),
    store: openStore(host.home, { transcribe, masker, now: () => new Date(now()) }),
    engine,
    log,
    now,
    budgetLedger: shared,
    masker,
    learnSecrets: (config) => learnSecrets(masker, { config, home: host.home, env }),
    readProviderKeys: async (source) => {
      const keys = await readKeys(source);
      masker.learn(keys);
      return keys;
    },
    async isWithdrawn(planned) {
      for (const ask of withdrawals) if (await ask(context, planned)) return true;
      return false;
    },
    swept: async (count) => void (await Promise.all(afterSweep.map((call) => call(host.home, count)))),
    preparedEpochs: new Map(),
    snapshots: new SnapshotFiles(host.home),
    layerMode: async ({ snapshot }) => {
      if (snapshot.mode === 'overlay' || snapshot.mode === 'copy') return snapshot.mode;
      return (await probes.canOverlay()) ? 'overlay' : 'copy';
    },
    findRoutes: openRoutes(host.home, readCredentials),
    readCredentials,
    registryCache: openRegistryCache(host.home),
    caFile: readSecret(env, 'NODE_EXTRA_CA_CERTS'),
    transport: async ({ workspace }: Config) => {
      if (workspace.transport !== 'auto') return workspace.transport;
      return (await probes.canMount()) ? 'mount' : 'stream';
    },
    channel: async (config) => {
      if (config.network.channel !== 'auto') return config.network.channel;
      return (await reach(config)).socket ? 'socket' : 'stdio';
    },
    pipesOutput: async (config) => {
      if (config.workspace.transport === 'stream' || config.network.channel === 'stdio') return false;
      return (await reach(config)).pipe;
    },
    checkIsolation: ({ sandbox }) => probes.isolation(sandbox.runtime),
    accounts: (image) => probes.accounts(image),
    env,
    unrecorded: new Map(),
    inBackground: (work) => {
      const tracked = work
        .catch((error: unknown) => log.warn({ err: error }, 'cleanup failed'))
        .finally(() => cleaning.delete(tracked));
      cleaning.add(tracked);
    },
  };
  return context;
}

/** A context for commands that need sandboxes but take no jobs from the queue. */
export function createIdleContext(parts: Omit<WorkerParts, 'homeId' | 'masker' | 'shared' | 'now'>): WorkerContext {
  const masker = openProcessMasker(parts.host, processEnv());
  return createWorkerContext({ ...parts, homeId: PROCESS_OWNED, masker, shared: undefined, now: Date.now });
}
