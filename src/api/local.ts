import { processEnv } from '../config/host.ts';
import { completeConfig } from '../config/complete.ts';
import type { Config, Host } from '../config/config.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { orClose } from '../lib/or-close.ts';
import { HaloError } from '../core/errors.ts';
import type { RunState } from '../core/run-state.ts';
import { transcribe } from '../core/transcript.ts';
import { diffCommits } from '../git/diff.ts';
import { openHeld, parentOf } from '../git/hold.ts';
import { mirrorPath } from '../git/mirror.ts';
import type { StoryQueue } from '../queue/queue.ts';
import type { RedisLink } from '../queue/redis.ts';
import { openBreakers } from '../store/breakers.ts';
import { openStore } from '../store/store.ts';
import { announceWorker } from '../store/presence.ts';
import { openLimits } from '../worker/fleet-limits.ts';
import { learnSecrets, openProcessMasker } from '../worker/secrets.ts';
import { findStory } from '../worker/find-story.ts';
import { withWholeMirror } from '../worker/whole-mirror.ts';
import { countWorkersFor, openStandings } from '../worker/lane.ts';
import { landRun } from '../worker/land-run.ts';
import { pino } from 'pino';
import { openHeldRuns } from './held-runs.ts';
import { openSteering } from './local-steering.ts';
import { whoAmI } from './whoami.ts';
import type { Operations } from './operations.ts';
import { listBreakers, resetBreaker } from './breakers.ts';
import { submitBatch, submitRuns } from './submit.ts';
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

/** The operations in this process. Redis is only looked for when something is submitted. */
export function openLocal(options: LocalOptions): Operations {
  const { host, args = [], preflight, owning = false, masker = openProcessMasker(host, processEnv()) } = options;
  const store = openStore(host.home, { transcribe, masker });
  const breakers = openBreakers(host.home);
  const redis = lazily(async () => {
    // Most commands need neither the queue nor the engine, and take twice as long with both.
    const [{ findQueueServer }, { openQueue }] = await Promise.all([
      import('../worker/find-redis.ts'),
      import('../queue/queue.ts'),
    ]);
    // What is odd of it but no danger is the worker's to tell, and doctor's.
    const link = await findQueueServer(host, () => undefined);
    const standings = { standingOf: openStandings(host.home, store), limits: openLimits(host.home) };
    const queue = await orClose(link, () => openQueue(link, { ...standings, takeoverMs: host.takeoverMs }));
    return { link, queue };
  });
  const held = openHeldRuns(host.home, store);
  const presence = lazily(() => announceWorker(host.home, 'own'));
  const keeper = { home: host.home, store, log: pino({ level: 'silent' }) };
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
  const learn = (config: unknown) =>
    learnSecrets(masker, { config: completeConfig(config), home: host.home, env: processEnv() });
  const local: Omit<Operations, keyof ReturnType<typeof openSteering> | 'actingAs'> = {
    submit: (request) => submitRuns(submitting, request),
    submitBatch: (request) => submitBatch(submitting, request),
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
      return masker.known(
        await withWholeMirror({ home: host.home, repo: state.repo, tip: state.tip }, () =>
          diffRun(host.home, state, storyId),
        ),
      );
    },
    artifacts: async (prefix) => store.listArtifacts(await store.find(prefix)),
    artifact: async (prefix, path) => {
      const runId = await store.find(prefix);
      const [bytes, { config }] = await Promise.all([store.readAnyArtifact(runId, path), store.readRecord(runId)]);
      await learn(config);
      // What only looks like a secret was masked when the file was written, but for patches.
      return masker.known(bytes);
    },
    land: async (prefix) => landRun(store, host.home, await store.find(prefix)),
    replay: async (prefix, options) => {
      const { replayAttempt } = await import('./replay.ts');
      return replayAttempt(host, { ...options, runId: await store.find(prefix) });
    },
    breakers: () => listBreakers({ store, breakers }),
    resetBreaker: (key) => resetBreaker({ store, breakers }, key),
    close: async () => {
      await presence.close((own) => own.leave());
      await redis.close(({ link, queue }) => closeRedis(link, queue));
    },
  };
  const actAs = (by: string): Operations => ({
    ...local,
    ...openSteering({ host, keeper, by, openQueue: askQueue, claim }),
    actingAs: actAs,
  });
  return actAs(whoAmI());
}

/** What a run or one of its stories landed or, for a story that waits for a person, would land. halo has it all, wherever the user's repository went since. */
async function diffRun(home: string, state: RunState, storyId: string | undefined): Promise<Buffer> {
  const mirrorDir = mirrorPath(home, state.repo.mirror);
  if (storyId === undefined) return diffCommits({ gitDir: mirrorDir, from: state.repo.base, to: state.tip });
  const story = findStory(state, storyId);
  const commit = story.commit ?? story.held?.commit;
  if (commit === undefined)
    throw new HaloError('STORY_NOT_FOUND', `Story ${storyId} has not landed, so there is no diff.`);
  const gitDir = await openHeld(mirrorDir);
  return diffCommits({ gitDir, from: await parentOf(gitDir, commit), to: commit });
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
