import type { Logger } from 'pino';
import { processEnv } from '../config/environment/host.ts';
import type { Host } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import { TAKEOVER_MS } from '../queue/scheduler/scheduler.ts';
import { LOCAL_ENGINE, type EngineAddress } from '../core/engine/engine-address.ts';
import type { FleetLimits } from '../core/run/fleet-limit.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { closeAll, ignore, withTimeout } from '../lib/async.ts';
import { openGitLauncher } from '../git/process/git.ts';
import { openBudgetLedger } from '../queue/budget/budget-ledger.ts';
import { openRedisClock } from '../queue/redis/redis-health.ts';
import { readHomeId, type RedisLink } from '../queue/redis/connect-redis.ts';
import { JobConsumer } from '../queue/consumer.ts';
import { claimDamagedRedisData } from '../queue/damaged-data.ts';
import { openQueue, type StoryQueue } from '../queue/queue.ts';
import { isEngineDrained } from '../store/drained-engines.ts';
import { assertOnlyHome } from '../store/home-place.ts';
import { makeWorkerId, registerWorker } from '../store/process-registry.ts';
import { PreparedAttempts } from './attempt/prepared-attempts.ts';
import { createWorkerContext } from './create-worker-context.ts';
import { createJobHandler } from './job-handler.ts';
import { openProcessMasker } from './process-masker.ts';
import { connectQueueRedis } from './recovery/find-redis.ts';
import { FeedReader } from './feed/feed-reader.ts';
import { AFTER_SWEEP, feedConsumers, ON_START, reporters, UPKEEP, WITHDRAWALS } from './joined.ts';
import { EngineWatch } from './recovery/engine-watch.ts';
import { Reconciler } from './recovery/reconciler.ts';
import { readFleetLimits } from '../config/host-rules.ts';
import { openJobRanks } from './run/run-ownership.ts';
import type { WorkerContext } from './worker-context.ts';
import { defined } from '../lib/guards.ts';

export interface Worker {
  /** Takes no more jobs, hands back running ones, and removes its sandboxes. */
  close(): Promise<void>;
}

interface WorkerOptions {
  host: Host;
  /** Where its sandboxes run; default: the engine that the environment names. */
  engine?: EngineAddress;
  /** Receives all secrets that the worker reads; default: its own masker. */
  masker?: Masker;
  /** The maximum number of concurrent stories, over all runs. */
  concurrency: number;
  log: Logger;
  /** Works only on the runs of this owner (store/process-registry.ts); default: on runs without an owner. */
  owner?: string;
}

/** How often a worker asks its engine whether it answers, in ms. */
const ASK_EVERY_MS = 5_000;
/** How long a closing worker waits for running stories, and then for cleanup. The next worker sweeps what remains. */
const CLOSE_MS = 20_000;
const CLEAN_MS = 10_000;
const REPORT_MS = 8_000;

/** Starts what a worker of this process will need first. It ends with the process. */
export function prepareWorker(): void {
  openGitLauncher();
}

/** Starts a worker. If that fails, closes what was opened. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const services = await openServices(options);
  let worker: QueueWorker | undefined;
  try {
    worker = new QueueWorker(services, options, await isDrained(options));
    await worker.start();
    return worker;
  } catch (error) {
    await (worker ?? services).close().catch(warnOf(options));
    throw error;
  }
}

async function isDrained({ host, engine }: WorkerOptions): Promise<boolean> {
  return engine !== undefined && isEngineDrained(host.home, engine.name);
}

/** What a worker works with. */
interface Services {
  link: RedisLink;
  queue: StoryQueue;
  context: WorkerContext;
  limits: () => Promise<FleetLimits>;
  /** Cleanup of attempts that runs in the background. */
  cleaning: ReadonlySet<Promise<void>>;
  close(): Promise<void>;
}

async function openServices(options: WorkerOptions): Promise<Services> {
  const { host, engine, log, masker = openProcessMasker(host, processEnv()) } = options;
  const opened: { close(): unknown }[] = [];
  const close = () => closeAll(opened.map((each) => () => each.close()));
  const keep = <T extends { close(): unknown }>(each: T): T => {
    opened.push(each);
    return each;
  };
  try {
    keep(openGitLauncher());
    const link = keep(await connectQueueRedis(host, ({ what, hint }) => log.warn({ hint }, what)));
    const damaged = await claimDamagedRedisData(host.home);
    if (damaged !== undefined) log.warn(damaged, 'Redis data was damaged: rebuilding the queue from the journals');
    const homeId = await readHomeId(host.home);
    await assertOnlyHome(host.home);
    const shared = keep(await openBudgetLedger(link));
    const { now } = keep(await openRedisClock(link));
    const cleaning = new Set<Promise<void>>();
    const context = createWorkerContext({
      host,
      engine,
      homeId,
      log,
      masker,
      cleaning,
      shared,
      now,
      afterSweep: AFTER_SWEEP,
      withdrawals: WITHDRAWALS,
    });
    const limits = () => readFleetLimits(host.home);
    const rankOf = openJobRanks(host.home, context.store);
    const queue = keep(await openQueue(link, { rankOf, limits, takeoverMs: host.takeoverMs }));
    return { link, queue, context, limits, cleaning, close };
  } catch (error) {
    await close().catch(warnOf(options));
    throw error;
  }
}

class QueueWorker implements Worker {
  /** The same in the queue and in the registry of processes. */
  private readonly id: string;
  private readonly services: Services;
  private readonly options: WorkerOptions;
  private readonly reconciler: Reconciler;
  private readonly consumer: JobConsumer;
  private readonly ahead: PreparedAttempts;
  private readonly reporters: readonly { close(): Promise<void> }[];
  private readonly feed: FeedReader;
  private readonly engineWatch: EngineWatch;
  private registration: { leave(): unknown } | undefined;
  private closing: Promise<void> | undefined;

  constructor(services: Services, options: WorkerOptions, draining: boolean) {
    const { link, queue, context, limits } = services;
    const { host, engine, concurrency, log, owner } = options;
    this.services = services;
    this.options = options;
    this.reconciler = new Reconciler(context, queue, { owner, takeoverMs: host.takeoverMs, upkeep: UPKEEP });
    this.ahead = new PreparedAttempts(context);
    this.reporters = reporters(context, queue, owner);
    this.feed = new FeedReader(context, queue, feedConsumers(context, queue));
    this.id = owner ?? makeWorkerId('any');
    this.consumer = new JobConsumer(link, {
      id: this.id,
      draining,
      concurrency,
      limits,
      ...defined({ lane: owner, engine: engine?.name }),
      takeoverMs: host.takeoverMs,
      handle: createJobHandler({ worker: context, ahead: this.ahead }, { queue, reconciler: this.reconciler }),
      onError: (error) => log.warn({ err: error }, 'queue error'),
    });
    this.engineWatch = this.watchEngine();
  }

  async start(): Promise<void> {
    const { host, owner } = this.options;
    // The worker of `halo run` has no other engine to leave its story to.
    if (owner === undefined) await this.engineWatch.start();
    await this.consumer.start();
    if (owner !== undefined) return;
    this.registration = await registerWorker(host.home, 'any', this.id);
    const { context, queue } = this.services;
    // It may have been drained after this worker had read whether it is.
    if (await isDrained(this.options)) await queue.drain(this.id, true);
    for (const look of ON_START) context.inBackground(look(context));
  }

  private watchEngine(): EngineWatch {
    const { context } = this.services;
    const { log, engineName } = context;
    const { takeoverMs = TAKEOVER_MS } = this.options.host;
    const goneMs = engineName === LOCAL_ENGINE ? Infinity : takeoverMs;
    const about = { engine: engineName };
    const lose = (what: string) => {
      const hint = 'Check the machine of the engine; the story starts again where an engine answers.';
      loseEngine(context, new HaloError('DOCKER_UNAVAILABLE', `The engine ${engineName} ${what}.`, { hint }));
    };
    return new EngineWatch({
      ask: async () => {
        const { isOther, missing } = await context.askEngine();
        if (isOther) {
          log.warn(
            about,
            'another machine has the name of this engine, or its data was lost: what it kept does not count',
          );
          lose('is another machine now, or has lost its data');
        }
        return missing;
      },
      everyMs: Math.min(ASK_EVERY_MS, takeoverMs / 6),
      goneMs,
      onChange: (standing, err) => {
        if (standing === 'silent')
          log.warn({ ...about, err }, 'the engine does not answer, or lacks an image: it gets no stories for now');
        if (standing === 'gone') {
          log.warn(
            { ...about, err },
            'the engine has not answered for too long: stories that run there start again on other engines',
          );
          lose(`has not answered for ${Math.round(goneMs / 1_000)} s`);
        }
        if (standing === 'answers') {
          log.info(about, 'the engine can run stories again');
          this.reconciler.sweepNow();
        }
        this.consumer
          .setAway(standing !== 'answers')
          .catch((error: unknown) => log.warn({ err: error }, 'queue error'));
      },
    });
  }

  /** Closes once; later calls wait for the first one. */
  close(): Promise<void> {
    return (this.closing ??= this.closeParts());
  }

  private async closeParts(): Promise<void> {
    const { queue, cleaning } = this.services;
    const { owner } = this.options;
    // `closeAll` runs these from the last to the first.
    await closeAll([
      () => this.services.close(),
      () => (owner === undefined ? undefined : queue.dropLane(owner).catch(ignore)),
      // A forge that hangs must not prevent the worker's end; another worker reports then.
      () => withTimeout(REPORT_MS, Promise.all(this.reporters.map((each) => each.close()))),
      // The same for an endpoint of notifications.
      async () => {
        await withTimeout(REPORT_MS, this.feed.close());
        await this.feed.stop();
      },
      // Calls that it does not answer would keep the process until their deadlines.
      () => this.services.context.engine.close(),
      // A hanging engine must not prevent the worker's end.
      () => withTimeout(CLEAN_MS, Promise.allSettled([this.reconciler.close(), ...cleaning])),
      () => this.ahead.dropAll(),
      () => this.consumer.close(CLOSE_MS),
      () => this.engineWatch.close(),
      // No reconciliation while the worker closes.
      () => void this.reconciler.close(),
      () => this.registration?.leave(),
    ]);
  }
}

/** Ends the attempts that run now; those that begin later run on the engine as it is then. */
function loseEngine(context: WorkerContext, reason: HaloError): void {
  const { engineLoss } = context;
  context.engineLoss = new AbortController();
  engineLoss.abort(reason);
}

function warnOf({ log }: WorkerOptions): (error: unknown) => void {
  return (error) => log.warn({ err: error }, 'worker could not be closed');
}
