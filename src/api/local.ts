import type { User } from '../core/access/access.ts';
import { processEnv } from '../config/environment/host.ts';
import type { Config, Host } from '../config/config.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { closeOnError } from '../lib/async.ts';
import { transcribe } from '../core/transcript/transcript.ts';
import { openBreakerStore } from '../store/breaker-files.ts';
import { openStore, type Store } from '../store/store.ts';
import type { TakingWorker } from '../queue/scheduler/scheduler.ts';
import { registerWorker } from '../store/process-registry.ts';
import { openProcessMasker } from '../worker/process-masker.ts';
import { countWorkersFor, openJobRanks } from '../worker/run/run-ownership.ts';
import { callForUser, type CallerOptions } from './access/call-for-user.ts';
import { Inspections } from './access/inspections.ts';
import { visibleStore } from './access/authorize.ts';
import { UserTurns } from './access/user-turns.ts';
import { bindOperations } from './operations.ts';
import type { CallOperation } from './operations/operation.ts';
import type { OperationContext } from './operations/operation.ts';
import { openLimitedRuns } from './runs/limited-runs.ts';
import { RunTable } from './runs/run-followers.ts';
import type { Operations } from './operations.ts';
import { TOKEN_HOLDER, userName, whoAmI } from './submit/user-name.ts';

interface LocalOptions {
  host: Host;
  /** The command line, kept in run.json. */
  args?: readonly string[];
  /** Called before a run is created. Throws if this machine lacks something that the run needs. */
  preflight?: (config: Config) => Promise<void>;
  /** Whether submitted runs belong to a worker of this process until these operations are closed. */
  owning?: boolean;
  /** Knows the secrets of this process; by default a new one. */
  masker?: Masker;
}

/** The operations in this process, which can also serve others. */
export interface LocalOperations extends Operations {
  /** The same operations, on behalf of another user. */
  actingAs(by: string): Omit<Operations, 'close'>;
  /**
   * Assigns an open run to a worker of this process, unless another worker would take it; from then on, submitted runs
   * belong to that worker, too. Returns the worker if the run is its own.
   */
  claim(runId: string): Promise<{ owner?: string }>;
  /** Runs operations for requests over the network, with the restrictions of such requests; for the owner of the server. */
  callRemotely(options?: CallerOptions): CallOperation;
  /** The same for a user of this server. They throw ACCESS_DENIED. */
  callFor(user: User, options?: CallerOptions): CallOperation;
  /** Throws REDIS_UNAVAILABLE. */
  pingQueue(): Promise<void>;
  /** The workers that run, of all runs. Throws REDIS_UNAVAILABLE. */
  takingWorkers(): Promise<TakingWorker[]>;
  /** The operations with the same restrictions. `submitter` is added to submits without a user. */
  restrictedFor(options: CallerOptions, submitter?: { user: string }): Omit<Operations, 'close'>;
}

/**
 * Opens the operations in this process. Redis is used only when needed, and modules that only some operations need are
 * loaded by those: listing runs takes no longer than reading them.
 */
export function openLocal(options: LocalOptions): LocalOperations {
  const { host, args = [], preflight, owning = false, masker = openProcessMasker(host, processEnv()) } = options;
  const store = openStore(host.home, { transcribe, masker });
  const redis = lazily(() => connectQueue(host, store));
  const registration = lazily(() => registerWorker(host.home, 'own'));
  let isOwning = owning;
  const ownerId = async () => (isOwning ? (await registration.get()).id : undefined);
  const shared: Omit<OperationContext, 'by' | 'remote'> = {
    ...sharedReadersOf(host, store),
    ...{ host, env: processEnv(), store, masker, args, user: userName(), preflight },
    openQueue: async () => (await redis.get()).queue,
    ownerId,
    claim: async (runId) => claimRun({ store, home: host.home, owner: await ownerId() }, runId),
    prdTurns: new UserTurns({ what: 'PRDs to read', slots: 1, max: 8 }),
    replayTurns: new UserTurns({ what: 'replay', slots: 1, max: 1 }),
    learnSecrets: (config) => learnSecretsOf(config, { masker, home: host.home }),
    describe: async () => (await import('./operations/openapi-document.ts')).buildOpenApi(),
  };
  const inspections = new Inspections();
  const callAs =
    (who: Pick<OperationContext, 'by' | 'remote' | 'undecided'>): CallOperation =>
    async (operation, input, signal) =>
      operation.run({ ...shared, ...who }, input, signal);
  const actingAs = (by: string) => bindOperations(callAs({ by, remote: false }));
  const callRemotely = (how: CallerOptions = {}): CallOperation => {
    const call = callAs({ by: TOKEN_HOLDER, ...how, remote: true });
    return async (operation, input, signal) =>
      operation.inspects === true
        ? inspections.run(how.by ?? TOKEN_HOLDER, signal, () => call(operation, input, signal))
        : call(operation, input, signal);
  };
  return {
    ...actingAs(whoAmI()),
    actingAs,
    async claim(runId) {
      const claimed = await claimRun({ store, home: host.home, owner: (await registration.get()).id }, runId);
      isOwning ||= claimed.owner !== undefined;
      return claimed;
    },
    takingWorkers: async () => (await redis.get()).queue.workers(),
    pingQueue: async () => void (await (await redis.get()).queue.counts()),
    callRemotely,
    callFor: (caller, how = {}) => callForUser({ ...visibleTo(caller, shared), inspections }, caller, how),
    restrictedFor: (how, submitter) => bindOperations(callRemotely(how), submitter),
    close: async () => {
      await registration.close((own) => own.leave());
      await redis.close(closeQueue);
    },
  };
}

/** The same, with the store as a user sees it. */
function visibleTo<T extends { host: Host; store: Store }>(caller: User, shared: T): T {
  const store = visibleStore(shared.store, caller);
  return { ...shared, ...readersOf(shared.host, store), store };
}

function sharedReadersOf(host: Host, store: Store): Pick<OperationContext, 'breakers' | 'limitedRuns' | 'runTable'> {
  const readers = readersOf(host, store);
  return { ...readers, runTable: new RunTable(store, readers.limitedRuns) };
}

function readersOf({ home }: Host, store: Store): Pick<OperationContext, 'breakers' | 'limitedRuns'> {
  return { breakers: openBreakerStore(home), limitedRuns: openLimitedRuns(home, store) };
}

async function connectQueue(host: Host, store: Store) {
  // Most commands need neither the queue nor the engine, and would take twice as long with both.
  const [{ connectQueueRedis }, { openQueue }, { readFleetLimits }] = await Promise.all([
    import('../worker/recovery/find-redis.ts'),
    import('../queue/queue.ts'),
    import('../config/host-rules.ts'),
  ]);
  // Workers and `halo doctor` report warnings about Redis.
  const link = await connectQueueRedis(host, () => undefined);
  const ranks = { rankOf: openJobRanks(host.home, store), limits: () => readFleetLimits(host.home) };
  const queue = await closeOnError(link, () => openQueue(link, { ...ranks, takeoverMs: host.takeoverMs }));
  return { link, queue };
}

async function closeQueue({ link, queue }: Awaited<ReturnType<typeof connectQueue>>): Promise<void> {
  await queue.close();
  await link.close();
}

/** Assigns a run to `owner`, unless another worker is running that would take it, or it needs an engine with labels. */
async function claimRun(
  { store, home, owner }: { store: Store; home: string; owner: string | undefined },
  runId: string,
): Promise<{ owner?: string }> {
  if (owner === undefined) return {};
  return store.transact<{ owner?: string }>(runId, async (state) => {
    const mayBeHere = state.owner !== owner && state.engineLabels === undefined;
    const needed = mayBeHere && (await countWorkersFor(home, state)) === 0;
    return needed ? { entries: [{ type: 'run.claimed', owner }], result: { owner } } : { entries: [], result: {} };
  });
}

async function learnSecretsOf(config: unknown, { masker, home }: { masker: Masker; home: string }): Promise<void> {
  const [{ learnSecrets }, { applyDefaults }] = await Promise.all([
    import('../worker/learn-secrets.ts'),
    import('../config/apply-defaults.ts'),
  ]);
  await learnSecrets(masker, { config: applyDefaults(config), home, env: processEnv() });
}

/** Opens a resource at its first use, once, and closes it only if it was opened. */
function lazily<T>(open: () => Promise<T>): {
  get(): Promise<T>;
  close(close: (resource: T) => Promise<void>): Promise<void>;
} {
  let opened: Promise<T> | undefined;
  return {
    get: () => {
      const opening = (opened ??= open());
      // A server tries again later.
      opening.catch(() => {
        if (opened === opening) opened = undefined;
      });
      return opening;
    },
    close: async (close) => {
      const resource = await opened?.catch(() => undefined);
      opened = undefined;
      if (resource !== undefined) await close(resource);
    },
  };
}
