import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_LIMITS } from '../../src/core/run/fleet-limit.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { sleep } from '../../src/lib/async.ts';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { attempted, created, passed } from '../support/journal.ts';
import { cpuMs } from './processor-time.ts';

const USERS = 50;
/** Stories that run on an engine at the same time. */
const SLOTS = 6;
/** Engines, and stories that wait when they begin. */
const FLEETS: [engines: number, stories: number][] = [
  [10, 500],
  [10, 2_000],
  [50, 2_000],
  [50, 5_000],
];
/** How long a fleet is observed, in ms. */
const OBSERVED_MS = 30_000;
/** A story of ten minutes takes one here: everything happens ten times as often. */
const MEDIAN_MS = 60_000;
/** Of the logarithm of the durations: one story in twenty takes more than four times the median. */
const SPREAD = 0.85;
const ACTIVITIES = 40;

interface SimulateOptions {
  json: boolean;
  /** Only the fleets with so many engines at most. */
  share?: string | undefined;
}

/** What was observed of one fleet. */
interface Observed {
  engines: number;
  stories: number;
  /** Stories that began while it was observed. */
  begun: number;
  /** Lost connections and locks, while it was observed. */
  faults: number;
  /** Of queueing one of them, in ms. */
  submitMs: number;
  /** From a free slot and a waiting story to the start, in ms. */
  claim: { p50: number; p95: number };
  /** Jain's index of the stories that users began, also before it was observed: 1 is equal, 1/50 is one user alone. */
  fairness: number;
  /** Of a story, in ms. */
  processor: { server: number; redis: number };
  /** Share of one core that Redis used. */
  redisLoad: number;
  memoryMiB: { server: number; redis: number };
}

/**
 * Many stub engines in one process: real Redis, scheduler, queues, leases and journals, without containers. The stories of 50
 * users wait, one of them with a third of all; slots that become free take the next one.
 */
export async function measureSimulation({ json, share = '1000' }: SimulateOptions): Promise<void> {
  const line = (...cells: string[]) => process.stdout.write(`${cells.map((cell) => cell.padStart(11)).join('')}\n`);
  if (!json) line(...HEADINGS);
  const rows: Observed[] = [];
  for (const [engines, stories] of FLEETS.filter(([engines]) => engines <= Number(share))) {
    const row = await observe(engines, stories);
    rows.push(row);
    const { begun, faults, claim, fairness, submitMs, processor, redisLoad, memoryMiB } = row;
    const load = `${(100 * redisLoad).toFixed(0)} %`;
    const times = [submitMs, claim.p50, claim.p95, processor.server, processor.redis].map(ms);
    const sizes = [memoryMiB.server, memoryMiB.redis].map((size) => `${size.toFixed(0)} MiB`);
    if (!json) line(...[engines, stories, begun, faults].map(String), fairness.toFixed(2), ...times, load, ...sizes);
  }
  if (json) process.stdout.write(`${JSON.stringify({ name: 'simulate', rows })}\n`);
}

/** Processor times are of one story. */
const HEADINGS =
  'engines,waiting,begun,faults,fairness,submit,claim p50,claim p95,server,redis,redis load,server,redis'.split(',');

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

async function observe(engines: number, stories: number): Promise<Observed> {
  const home = mkdtempSync(join(tmpdir(), 'halo-simulation-'));
  const link = await connectRedis({ home, redisUrl: undefined });
  const store = openStore(home, { transcribe });
  const fleet = new Fleet(link, store, { engines, stories });
  try {
    const submitMs = await fleet.submit();
    await fleet.start();
    // The first ones all begin at the same time.
    await sleep(OBSERVED_MS / 3);
    const pid = Number(readFileSync(join(home, 'redis', 'redis.pid'), 'utf8'));
    const before = { server: cpuMs(process.pid), redis: cpuMs(pid), at: performance.now() };
    fleet.forget();
    await sleep(OBSERVED_MS);
    const used = { server: cpuMs(process.pid) - before.server, redis: cpuMs(pid) - before.redis };
    const { begun, claims, fairness, faults } = fleet;
    return {
      ...{ engines, stories, begun, fairness, faults, submitMs },
      claim: { p50: quantile(claims, 0.5), p95: quantile(claims, 0.95) },
      processor: { server: used.server / begun, redis: used.redis / begun },
      redisLoad: used.redis / (performance.now() - before.at),
      memoryMiB: { server: process.memoryUsage().rss / 2 ** 20, redis: residentMiB(pid) },
    };
  } finally {
    await fleet.close();
    await link.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

/** Jain's index. */
function jain(values: number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  return sum ** 2 / (values.length * values.reduce((total, value) => total + value ** 2, 0));
}

const STORY = 'US-001';
const SAID: JournalEntry = {
  type: 'agent.activity',
  ...{ story: STORY, attempt: 1, activity: { kind: 'say', text: 'Looking at the tests first.' } },
};
/** What is appended one by one while a story runs, and what ends it. */
const ENTRIES: JournalEntry[] = [
  { type: 'run.started' },
  ...attempted(STORY),
  ...Array.from({ length: ACTIVITIES }, () => SAID),
];
const ENDS: JournalEntry[] = [
  ...passed(STORY).slice(attempted(STORY).length),
  { type: 'run.ended', stopReason: 'SUCCESS', detail: 'Every story has passed.' },
];

/** Of a story, log-normal, in ms. */
function duration(): number {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return MEDIAN_MS * Math.exp(SPREAD * normal);
}

/** Runs of one submit. */
const BATCH = 500;

class Fleet {
  readonly claims: number[] = [];
  /** Lost connections and locks. */
  faults = 0;
  readonly #link: RedisLink;
  readonly #store: Store;
  readonly #names: string[];
  readonly #users: string[];
  readonly #runs: string[];
  readonly #consumers: JobConsumer[] = [];
  /** When slots became free, by engine. */
  readonly #free: Map<string, number[]>;
  readonly #begunBy = new Map<string, number>();
  #isClosing = false;

  constructor(link: RedisLink, store: Store, { engines, stories }: { engines: number; stories: number }) {
    this.#link = link;
    this.#store = store;
    this.#names = Array.from({ length: engines }, (_, at) => `engine-${at}`);
    // The first user has a third of all.
    this.#users = Array.from({ length: stories }, (_, at) => `user-${at % 3 === 0 ? 0 : at % USERS}`);
    this.#runs = this.#users.map((_, at) => `sim${String(at).padStart(12, '0')}`);
    this.#free = new Map(this.#names.map((name) => [name, []]));
  }

  get begun(): number {
    return this.claims.length;
  }

  get fairness(): number {
    return jain(Array.from({ length: USERS }, (_, at) => this.#begunBy.get(`user-${at}`) ?? 0));
  }

  /** Begins to measure claims. */
  forget(): void {
    this.claims.length = 0;
    this.faults = 0;
  }

  /** Returns the time of queueing one of them, in ms. */
  async submit(): Promise<number> {
    const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
    for (let at = 0; at < this.#runs.length; at += BATCH)
      await this.#store.createRuns(
        this.#runs.slice(at, at + BATCH).map((runId) => ({ created: created(runId, 1), origin })),
      );
    const queue = await openQueue(this.#link, {
      rankOf: (runId) => Promise.resolve(this.#rankOf(runId)),
      limits: () => Promise.resolve(NO_LIMITS),
    });
    const started = performance.now();
    for (const runId of this.#runs) await queue.enqueue({ runId, ordinal: 0, attempt: 1 });
    const tookMs = performance.now() - started;
    await queue.close();
    return tookMs / this.#runs.length;
  }

  #userOf(runId: string): string {
    return this.#users[Number(runId.slice(3))] ?? '';
  }

  #rankOf(runId: string) {
    const user = this.#userOf(runId);
    return {
      lane: '',
      engines: this.#names,
      user,
      repo: `repo-of-${user}`,
      agent: 'codex',
      priority: 0,
      started: false,
    };
  }

  async start(): Promise<void> {
    for (const engine of this.#names) {
      const consumer = new JobConsumer(this.#link, {
        ...{ engine, host: engine, concurrency: SLOTS },
        handle: async ({ runId }) => {
          const freeAt = this.#free.get(engine)?.shift();
          if (freeAt !== undefined) this.claims.push(performance.now() - freeAt);
          this.#begunBy.set(this.#userOf(runId), (this.#begunBy.get(this.#userOf(runId)) ?? 0) + 1);
          await this.#work(runId);
          this.#free.get(engine)?.push(performance.now());
          return { kind: 'done' };
        },
        onError: () => (this.faults += this.#isClosing ? 0 : 1),
      });
      this.#consumers.push(consumer);
      await consumer.start();
    }
  }

  /** The journal of a story, over the time that it takes. */
  async #work(runId: string): Promise<void> {
    const stepMs = duration() / ENTRIES.length;
    for (const entry of ENTRIES) {
      if (this.#isClosing) return;
      await this.#store.append(runId, [entry]);
      await sleep(stepMs);
    }
    await this.#store.append(runId, ENDS);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#consumers.map((consumer) => consumer.close(5_000)));
  }
}
