import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { FleetLimits } from '../../core/run/fleet-limit.ts';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { queueOf, StoryJob } from '../job.ts';

const SCRIPT = readFileSync(new URL('./scheduler.lua', import.meta.url), 'utf8');

/** What determines when a job receives a slot. */
export interface JobRank {
  /** The worker for which the run is reserved, or '' for the workers of engines. */
  lane: string;
  /** The engines that may run it, by name. None: it waits. */
  engines: readonly string[];
  user: string;
  /** The repository, by the name of its bare mirror. */
  repo: string;
  agent: string;
  /** Smaller numbers go first. */
  priority: number;
  /** Whether a story of the run has started: such a run goes before the user's other runs. */
  started: boolean;
}

/** A job before it has a rank. */
export type RankedJob = Pick<StoryJob, 'ordinal'> & { attempt: number };

const JobEntry = z.object({
  ...StoryJob.shape,
  attempt: z.number(),
  lane: z.string(),
  user: z.string(),
  repo: z.string(),
  agent: z.string(),
  priority: z.number(),
  readyAt: z.number(),
  /** How long it has to wait, in ms: `readyAt` is not further ahead unless the clock of the server was wrong. */
  delayMs: z.number().optional(),
  seq: z.number(),
  /** Lua has one empty table, which is an object in JSON. */
  engines: z.union([z.array(z.string()), z.strictObject({}).transform((): string[] => [])]).optional(),
  /** The engine that it has a slot on, or had last. */
  engine: z.string().optional(),
  /** The engine that it gets only if no other one has room: it failed there. */
  avoid: z.string().optional(),
  /** In a reply, with a slot on another engine: the one in whose queue the job may be left. */
  from: z.string().optional(),
  host: z.string().optional(),
  /** When it became ready, in ms since 1970; absent after its start. */
  queuedAt: z.number().optional(),
  /** In the reply to `begin`: how long it was ready. */
  queuedMs: z.number().optional(),
});
const WorkerEntry = z.object({
  ...{ id: z.string(), host: z.string(), slots: z.number(), pid: z.number(), version: z.string() },
  engine: z.string().default(LOCAL_ENGINE),
  ...{ busy: z.number(), draining: z.boolean() },
  /** Its engine does not answer: it takes no jobs until it does. */
  away: z.boolean().optional(),
});

/** A job as stored in Redis until it is finished. */
export type JobEntry = z.infer<typeof JobEntry>;

const Registration = z.object({ ...WorkerEntry.shape, lane: z.string(), lapses: z.number() });

interface JobOffer extends JobRank, StoryJob {
  id: string;
  attempt: number;
  delayMs: number;
  avoid?: string;
}

/** What happened since the last update. Every update also assigns free slots. */
export interface SchedulerUpdate {
  /** Jobs that need a slot. */
  offer?: JobOffer[];
  /** Jobs that the caller runs: their leases are renewed. */
  working?: Record<string, JobEntry>;
  /** A job that a worker on this host wants to start. If it may not, it keeps waiting. */
  begin?: { id: string; host: string; engine?: string };
  /** The id of a finished job. */
  finish?: string;
  /** A job that returns its slot and needs another one after that time. */
  later?: { id: string; delayMs: number; avoid?: string };
  /** A job that a worker has returned to the queue of its engine. It moves to another engine if no worker would take it. */
  back?: string;
  /** A lane to remove with its jobs. */
  dropLane?: string;
  /** A worker that takes jobs; with 0 slots, a worker that leaves. Its `draining` counts only without an order (`drain`). */
  worker?: Omit<TakingWorker, 'engine'> & { lane: string; engine?: string };
  /** A registered worker that must drain, or may take jobs again. */
  drain?: { id: string; draining: boolean };
}

/** A worker that takes jobs. */
export interface TakingWorker {
  id: string;
  /** The engine on which it runs jobs, unless it has a lane. */
  engine: string;
  /** What counts for the limit per host. */
  host: string;
  /** Maximum number of parallel jobs. */
  slots: number;
  pid: number;
  /** The version of halo. */
  version: string;
  /** The number of jobs that it runs. */
  busy: number;
  /** It finishes its jobs and takes no others. */
  draining: boolean;
  /** Its engine does not answer: it takes no jobs until it does. */
  away?: boolean | undefined;
}

export interface SchedulerReply {
  /** The job of `begin`, if it may start. */
  started: JobEntry | undefined;
  /** Milliseconds until the next delayed job is due; undefined when there is none. */
  soonestMs: number | undefined;
  /** Whether the worker of the update drains; undefined when it is not registered. */
  draining: boolean | undefined;
  /** The ids of jobs of `working` that another engine has taken over. */
  lost: readonly string[];
  /** Jobs that received a slot and must be queued for a worker. */
  granted: { id: string; entry: JobEntry }[];
}

/** Assigns slots to jobs, in Redis. */
export interface Scheduler {
  /** `update` is called as late as possible, so that updates are sent in the order of events. */
  update(update: () => SchedulerUpdate): Promise<SchedulerReply>;
  /** The ids of all unfinished jobs. */
  ids(): Promise<string[]>;
  /** The workers that have taken part in the last seconds. */
  workers(): Promise<TakingWorker[]>;
  /** All unfinished jobs. */
  list(): Promise<{ id: string; entry: JobEntry; hasSlot: boolean }[]>;
  /** The slots of the workers of each engine. */
  slots(): Promise<WorkerSlots[]>;
}

/** How many jobs the workers of an engine can run in parallel. `busy`: assigned to a job; `free`: the others. */
export interface WorkerSlots {
  engine: string;
  busy: number;
  free: number;
}

/** How long a silent worker keeps its jobs and their slots. */
export const TAKEOVER_MS = 30_000;
/** A worker without an update for this time, or that of a takeover if it is shorter, receives no more jobs. */
const WORKER_TIMEOUT_MS = 15_000;
/** How long an order to drain is kept for a worker that cannot be reached. */
const ORDER_SECONDS = 7 * 86_400;

export interface SchedulerOptions {
  /** Prefix of all keys of this HALO_HOME. */
  prefix: string;
  limits: () => Promise<FleetLimits>;
  /** How long a slot lasts without renewal, in ms; default 30 s. */
  takeoverMs?: number | undefined;
}

/** What the script works with, in its order; those after `ran` are derived from the others. */
const KEYS = 'jobs,leases,served,workers,counter,drains,ran,running,delayed,waiting,spots,index'.split(',');

/** Opens the scheduler. All decisions are made by the script in Redis. */
export function openScheduler(
  client: Redis,
  { prefix, limits, takeoverMs = TAKEOVER_MS }: SchedulerOptions,
): Scheduler {
  const keys = KEYS.map((name) => `${prefix}:slots:${name}`);
  const [jobs = '', leases = '', , workers = ''] = keys;
  return {
    async update(update) {
      const currentLimits = await limits();
      const times = {
        leaseMs: takeoverMs,
        workerMs: Math.min(WORKER_TIMEOUT_MS, takeoverMs),
        orderSeconds: ORDER_SECONDS,
      };
      const argument = { ...update(), limits: currentLimits, ...times };
      return readReply(await client.eval(SCRIPT, keys.length, ...keys, JSON.stringify(argument)));
    },
    ids: () => client.hkeys(jobs),
    workers: async () =>
      Object.values(await client.hgetall(workers)).map((text) => WorkerEntry.parse(JSON.parse(text))),
    async list() {
      const [entries, leased] = await Promise.all([client.hgetall(jobs), client.zrange(leases, '0', '-1')]);
      return Object.entries(entries).map(([id, text]) => ({
        id,
        entry: readEntry(text),
        hasSlot: leased.includes(id),
      }));
    },
    async slots() {
      const [[seconds], leased, entries, registered] = await Promise.all([
        client.time(),
        client.zrange(leases, '0', '-1', 'WITHSCORES'),
        client.hgetall(jobs),
        client.hvals(workers),
      ]);
      const now = Number(seconds) * 1000;
      const places = new Map<string, WorkerSlots>();
      const placeOf = (job: { lane: string; engine?: string | undefined }) => {
        const { lane, engine = LOCAL_ENGINE } = job;
        const name = queueOf(job);
        const place = places.get(name) ?? { engine: lane === '' ? engine : LOCAL_ENGINE, busy: 0, free: 0 };
        places.set(name, place);
        return place;
      };
      for (const { lapses, ...worker } of registered.map((text) => Registration.parse(JSON.parse(text))))
        if (lapses > now) placeOf(worker).free += slotsOf(worker);
      for (let at = 0; at + 1 < leased.length; at += 2) {
        const text = entries[leased[at] ?? ''];
        if (text === undefined || Number(leased[at + 1]) <= now) continue;
        const place = placeOf(readEntry(text));
        place.busy += 1;
        place.free -= 1;
      }
      const sums = new Map<string, WorkerSlots>([[LOCAL_ENGINE, { engine: LOCAL_ENGINE, busy: 0, free: 0 }]]);
      for (const { engine, busy, free } of places.values()) {
        const sum = sums.get(engine) ?? { engine, busy: 0, free: 0 };
        sums.set(engine, { engine, busy: sum.busy + busy, free: sum.free + Math.max(0, free) });
      }
      return [...sums.values()];
    },
  };
}

function readReply(reply: unknown): SchedulerReply {
  const [started = '', soonest, standing, lost = '', ...pairs] = z
    .array(z.union([z.string(), z.number()]))
    .parse(reply)
    .map(String);
  const granted: SchedulerReply['granted'] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2)
    granted.push({ id: pairs[at] ?? '', entry: readEntry(pairs[at + 1] ?? '') });
  return {
    started: started === '' ? undefined : readEntry(started),
    soonestMs: Number(soonest) < 0 ? undefined : Number(soonest),
    draining: STANDINGS[Number(standing)],
    lost: lost === '' ? [] : lost.split(','),
    granted,
  };
}

/** What the script replies about a worker: not registered, registered, draining. */
const STANDINGS = [undefined, false, true];

/** A worker that drains, or whose engine is away, has no slots but those of the jobs that it runs. */
function slotsOf({ slots, busy, draining, away }: TakingWorker): number {
  return draining || away ? Math.min(busy, slots) : slots;
}

function readEntry(text: string): JobEntry {
  return JobEntry.parse(JSON.parse(text));
}
