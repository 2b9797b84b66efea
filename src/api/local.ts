import { processEnv } from '../config/environment/host.ts';
import type { Config, Host } from '../config/config.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { orClose } from '../lib/or-close.ts';
import { transcribe } from '../core/transcript/transcript.ts';
import type { StoryQueue } from '../queue/queue.ts';
import type { RedisLink } from '../queue/redis/connect-redis.ts';
import { openBreakers } from '../store/breaker-files.ts';
import { openStore } from '../store/store.ts';
import { announceWorker } from '../store/presence.ts';
import { openProcessMasker } from '../worker/process-masker.ts';
import { findStory } from '../worker/find-story.ts';
import { countWorkersFor, openStandings } from '../worker/lane.ts';
import { openHeldRuns } from './held-runs.ts';
import type { Steering } from './local-steering.ts';
import { whoAmI } from './whoami.ts';
import type { Operations } from './operations.ts';
import { listBreakers, resetBreaker } from './runs/breakers.ts';
import type { SubmitContext } from './submit-context.ts';
import { userName } from './user-name.ts';

export interface LocalOptions {
  host: Host;
  /** The command line as the user gave it, kept in run.json. */
  args?: readonly string[];
  /** Asked before a run is made whether this machine could work on it; throws what is missing. */
  preflight?: (config: Config) => Promise<void>;
  /** What is submitted is for a worker of this process alone, for as long as these operations are open. */
  owning?: boolean;
  /** Knows the secrets of this process; by default one of its own. */
  masker?: Masker;
}

/**
 * The operations in this process. Redis is only looked for when something is submitted, and what only some operations
 * need is loaded by those: listing runs takes no longer than reading them.
 */
export function openLocal(options: LocalOptions): Operations {
  const { host, args = [], preflight, owning = false, masker = openProcessMasker(host, processEnv()) } = options;
  const store = openStore(host.home, { transcribe, masker });
  const breakers = openBreakers(host.home);
  const redis = lazily(async () => {
    // Most commands need neither the queue nor the engine, and take twice as long with both.
    const [{ findQueueServer }, { openQueue }, { openLimits }] = await Promise.all([
      import('../worker/find-redis.ts'),
      import('../queue/queue.ts'),
      import('../worker/run/fleet-limits.ts'),
    ]);
    // What is odd of it but no danger is the worker's to tell, and doctor's.
    const link = await findQueueServer(host, () => undefined);
    const standings = { standingOf: openStandings(host.home, store), limits: openLimits(host.home) };
    const queue = await orClose(link, () => openQueue(link, { ...standings, takeoverMs: host.takeoverMs }));
    return { link, queue };
  });
  const held = openHeldRuns(host.home, store);
  const presence = lazily(() => announceWorker(host.home, 'own'));
  const askQueue = async () => (await redis.get()).queue;
  const submitting: SubmitContext = {
    host,
    env: processEnv(),
    store,
    masker,
    args,
    user: userName(),
    preflight,
    openQueue: askQueue,
    ownerId: async () => (owning ? (await presence.get()).id : undefined),
  };
  const claim = async (runId: string) => {
    if (!owning) return {};
    const { id: owner } = await presence.get();
    return store.transact<{ owner?: string }>(runId, async (state) => {
      const needed = state.owner !== owner && (await countWorkersFor(host.home, state)) === 0;
      return needed ? { entries: [{ type: 'run.claimed', owner }], result: { owner } } : { entries: [], result: {} };
    });
  };
  const learn = async (config: unknown) => {
    const [{ learnSecrets }, { completeConfig }] = await Promise.all([
      import('../worker/learn-secrets.ts'),
      import('../config/apply-defaults.ts'),
    ]);
    await learnSecrets(masker, { config: completeConfig(config), home: host.home, env: processEnv() });
  };
  const local: Omit<Operations, keyof Steering | 'actingAs'> = {
    submit: async (request) => (await import('./submit/submit-runs.ts')).submitRuns(submitting, request),
    submitBatch: async (request) => (await import('./submit/submit-runs.ts')).submitBatch(submitting, request),
    list: () => held.list(),
    get: async (prefix) => {
      const runId = await store.find(prefix);
      const [state, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
      const [workers, why] = await Promise.all([countWorkersFor(host.home, state), held.of(state)]);
      return { state, ...why, record, dir: store.runFolder(runId), workers };
    },
    async *follow(prefix, options) {
      yield* store.follow(await store.find(prefix), options);
    },
    async *raw(prefix, { storyId, follow, signal }) {
      const runId = await store.find(prefix);
      const key = storyId === undefined ? {} : { storyKey: findStory(await store.readState(runId), storyId).key };
      yield* store.followRaw(runId, { ...key, follow, ...(signal === undefined ? {} : { signal }) });
    },
    diff: async (prefix, storyId) => {
      const runId = await store.find(prefix);
      const [state, { config }] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
      if (state.refused !== undefined) return Buffer.alloc(0);
      await learn(config);
      const { diffRun } = await import('./diff-run.ts');
      return masker.known(await diffRun(host.home, state, storyId));
    },
    artifacts: async (prefix) => store.listArtifacts(await store.find(prefix)),
    artifact: async (prefix, path) => {
      const runId = await store.find(prefix);
      const [bytes, { config }] = await Promise.all([store.readAnyArtifact(runId, path), store.readRecord(runId)]);
      await learn(config);
      // What only looks like a secret was masked when the file was written, but for patches.
      return masker.known(bytes);
    },
    land: async (prefix) => {
      const { landRun } = await import('../worker/run/land-run.ts');
      return landRun(store, host.home, await store.find(prefix));
    },
    replay: async (prefix, options) => {
      const { replayAttempt } = await import('./runs/replay-attempt.ts');
      return replayAttempt(host, { ...options, runId: await store.find(prefix) });
    },
    breakers: () => listBreakers({ store, breakers }),
    resetBreaker: (key) => resetBreaker({ store, breakers }, key),
    close: async () => {
      await presence.close((own) => own.leave());
      await redis.close(({ link, queue }) => closeRedis(link, queue));
    },
  };
  const actAs = (by: string): Operations => ({ ...local, ...steerLazily(() => openSteeringBy(by)), actingAs: actAs });
  const openSteeringBy = async (by: string) => {
    const [{ openSteering }, { pino }] = await Promise.all([import('./local-steering.ts'), import('pino')]);
    const keeper = { home: host.home, store, log: pino({ level: 'silent' }) };
    return openSteering({ host, keeper, by, openQueue: askQueue, claim });
  };
  return actAs(whoAmI());
}

/** What it takes to steer runs is loaded when somebody does. */
function steerLazily(open: () => Promise<Steering>): Steering {
  const opened = lazily(open);
  const get = () => opened.get();
  return {
    pause: async (...said) => (await get()).pause(...said),
    resume: async (...said) => (await get()).resume(...said),
    cancel: async (...said) => (await get()).cancel(...said),
    retry: async (...said) => (await get()).retry(...said),
    approve: async (...said) => (await get()).approve(...said),
    reject: async (...said) => (await get()).reject(...said),
    approveRun: async (...said) => (await get()).approveRun(...said),
    rejectRun: async (...said) => (await get()).rejectRun(...said),
  };
}

async function closeRedis(link: RedisLink, queue: StoryQueue): Promise<void> {
  await queue.close();
  await link.close();
}

/** Opens a thing at its first use, once, and closes it only if it was opened. */
function lazily<T>(open: () => Promise<T>): {
  get(): Promise<T>;
  close(close: (thing: T) => Promise<void>): Promise<void>;
} {
  let opened: Promise<T> | undefined;
  return {
    get: () => (opened ??= open()),
    close: async (close) => {
      const thing = await opened?.catch(() => undefined);
      opened = undefined;
      if (thing !== undefined) await close(thing);
    },
  };
}
