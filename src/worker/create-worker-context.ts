import type { Logger } from 'pino';
import type { Config, Host } from '../config/config.ts';
import { processEnv, proxySecrets, readSecret } from '../config/environment/host.ts';
import { LOCAL_ENGINE, localEngine, type EngineAddress } from '../core/engine/engine-address.ts';
import { transcribe } from '../core/transcript/transcript.ts';
import { openRegistryCache } from '../gateway/registry/registry-cache.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { BudgetLedger } from '../queue/budget/budget-ledger.ts';
import { imageMissing } from '../sandbox/docker/docker-client.ts';
import { openDockerEngine } from '../sandbox/docker/engine.ts';
import { HALO_IMAGE } from '../sandbox/docker/image/image-recipe.ts';
import { openEngineProbes } from '../sandbox/engine-probes.ts';
import { PROCESS_OWNED } from '../sandbox/sandbox.ts';
import { openBreakerStore } from '../store/breaker-files.ts';
import { SnapshotFiles } from '../store/snapshot-files.ts';
import { openStore } from '../store/store.ts';
import { openRegistryCredentials, openRoutes } from './network/registry-routes.ts';
import { openProviderKeys, openSecretReader } from './network/secret-reader.ts';
import { openProcessMasker } from './process-masker.ts';
import { LIVE_INPUTS, SERVICES } from './joined.ts';
import { learnSecrets } from './learn-secrets.ts';
import type { EngineFacts, PlannedStory, WorkerContext } from './worker-context.ts';

interface WorkerParts {
  host: Host;
  /** Where sandboxes run; default: the engine that the environment names. */
  engine?: EngineAddress | undefined;
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

/** How long an engine may take to describe itself, in ms. */
const ASK_MS = 10_000;

/** Creates the context of a worker and starts the isolation check of the engine in advance. */
export function createWorkerContext(parts: WorkerParts): WorkerContext {
  const { host, homeId, log, cleaning, masker, shared, now, afterSweep = [], withdrawals = [] } = parts;
  const { engine: at = localEngine } = parts;
  const open = () => {
    const engine = openDockerEngine(at, { isHere: () => probes.canMount() });
    const probes = openEngineProbes(engine, host.home);
    return { engine, probes };
  };
  let opened = open();
  let known: Promise<EngineFacts> | undefined;
  // Of its own, so that calls that hang do not delay it.
  const asking = openDockerEngine(at, { deadlineMs: Math.min(ASK_MS, (host.takeoverMs ?? Infinity) / 3) });
  const ask = async () => {
    const { id, architecture } = await asking.info();
    return { name: at.name, id, architecture };
  };
  // A story of the engine of the environment says so itself: there is no other one to leave it to.
  const findMissing = async () =>
    at.name === LOCAL_ENGINE || (await asking.imageId(HALO_IMAGE)) !== undefined
      ? undefined
      : imageMissing(HALO_IMAGE, { engine: at.name });
  const env = processEnv();
  masker.learn(proxySecrets(env));
  const secretReader = openSecretReader((name) => readSecret(env, name));
  const readKeys = openProviderKeys(secretReader);
  const readCredentials = openRegistryCredentials(secretReader, (secrets) => masker.learn(secrets));
  const reach = async ({ sandbox }: Config) => {
    const { probes } = opened;
    return probes.canReach((await probes.isolation(sandbox.runtime)).runtime);
  };
  const { probes } = opened;
  // In advance of the first story, as what follows, which reports a failure.
  const proving = Promise.allSettled([
    probes.canMount(),
    probes.isolation('auto').then(({ runtime }) => probes.canReach(runtime)),
  ]).then(() => void cleaning.delete(proving));
  // A worker that closes immediately still removes the probes.
  cleaning.add(proving);
  known = ask();
  known.catch(() => (known = undefined));
  const context: WorkerContext = {
    home: host.home,
    homeId,
    breakers: openBreakerStore(host.home),
    store: openStore(host.home, { transcribe, masker, now: () => new Date(now()) }),
    get engine() {
      return opened.engine;
    },
    engineName: at.name,
    async engineFacts() {
      known ??= ask();
      known.catch(() => (known = undefined));
      return known;
    },
    async askEngine() {
      const before = await known?.catch(() => undefined);
      const [now, missing] = await Promise.all([ask(), findMissing()]);
      known = Promise.resolve(now);
      const isOther = before !== undefined && before.id !== now.id;
      // What was found out about the other one does not count.
      if (isOther) opened = open();
      return { isOther, missing };
    },
    engineLoss: new AbortController(),
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
      return (await opened.probes.canOverlay()) ? 'overlay' : 'copy';
    },
    findRoutes: openRoutes(host.home, readCredentials),
    readCredentials,
    registryCache: openRegistryCache(host.home),
    caFile: readSecret(env, 'NODE_EXTRA_CA_CERTS'),
    transport: async ({ workspace }: Config) => {
      if (workspace.transport !== 'auto') return workspace.transport;
      return (await opened.probes.canMount()) ? 'mount' : 'stream';
    },
    channel: async (config) => {
      if (config.network.channel !== 'auto') return config.network.channel;
      return (await reach(config)).socket ? 'socket' : 'stdio';
    },
    pipesOutput: async (config) => {
      if (config.workspace.transport === 'stream' || config.network.channel === 'stdio') return false;
      return (await reach(config)).pipe;
    },
    checkIsolation: ({ sandbox }) => opened.probes.isolation(sandbox.runtime),
    accounts: (image) => opened.probes.accounts(image),
    services: SERVICES,
    openLiveInput: LIVE_INPUTS[0],
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
