import type { Redis } from 'ioredis';
import { z } from 'zod';
import { StoryJob } from './job.ts';
import { TURNS_SCRIPT } from './turns-script.ts';

/** Most stories that are worked on at the same time; absent: as many as there are workers. */
export interface Limits {
  max?: number;
  perHost?: number;
  perRepo?: number;
  perUser?: number;
  /** By the name of the agent. */
  perAgent: Record<string, number>;
}

/** A fleet without limits. */
export const NO_LIMITS: Limits = { perAgent: {} };

/** What decides when a job has its turn. */
export interface Standing {
  /** The worker that has the run for itself, or '' for all others. */
  lane: string;
  user: string;
  /** The repository, by the name of its mirror. */
  repo: string;
  agent: string;
  /** Smaller goes first. */
  priority: number;
}

const Entry = z.object({
  ...StoryJob.shape,
  attempt: z.number(),
  lane: z.string(),
  user: z.string(),
  repo: z.string(),
  agent: z.string(),
  priority: z.number(),
  readyAt: z.number(),
  seq: z.number(),
  host: z.string().optional(),
});
/** A job as Redis keeps it until it is done. */
export type Entry = z.infer<typeof Entry>;

export interface Offer extends Standing, StoryJob {
  id: string;
  attempt: number;
  delayMs: number;
}

/** What happened; all of it is optional, and each question also gives turns to whoever can have one. */
export interface Question {
  /** Jobs that want a turn. */
  offer?: Offer[];
  /** Jobs that the asker works on: their leases are renewed. */
  working?: Record<string, Entry>;
  /** A job was taken on a host: may it start? If not, it waits on. */
  begin?: { id: string; host: string };
  /** The id of a job that is done. */
  finish?: string;
  /** A job that gives its turn back and wants another one after that time. */
  later?: { id: string; delayMs: number };
  /** A lane that is gone, with its jobs. */
  dropLane?: string;
  /** A worker that takes jobs; without slots, one that leaves. */
  worker?: { id: string; lane: string; host: string; slots: number };
}

export interface Answer {
  /** The job that was asked about, when it may start. */
  begun: Entry | undefined;
  /** When a waiting job may go on by itself; undefined: none will. */
  soonestMs: number | undefined;
  /** Jobs that have a turn from now on, and must be handed to a worker. */
  turns: { id: string; entry: Entry }[];
}

/** Turns as Redis counts them. */
export interface Turns {
  /** The question is put together at the last moment, so that it is asked in the order in which things happen. */
  ask(question: () => Question): Promise<Answer>;
  /** All jobs that are not done, with those that have a turn. */
  list(): Promise<{ id: string; entry: Entry; hasTurn: boolean }[]>;
}

/** How long a silent worker keeps what it has, its jobs and its turns alike. */
export const TAKEOVER_MS = 30_000;
/** A worker that does not announce itself is given no more turns. */
const WORKER_MS = 15_000;

export interface TurnsOptions {
  /** Of all keys of this HALO_HOME. */
  prefix: string;
  limits: () => Promise<Limits>;
  /** How long a turn lasts that its worker does not renew, in ms; default 30 s. */
  takeoverMs?: number | undefined;
}

/** Who may be worked on, decided in Redis alone. */
export function openTurns(client: Redis, { prefix, limits, takeoverMs = TAKEOVER_MS }: TurnsOptions): Turns {
  const keys = ['jobs', 'leases', 'served', 'workers', 'counter'].map((name) => `${prefix}:turns:${name}`);
  const [jobs = '', leases = ''] = keys;
  return {
    async ask(question) {
      const now = await limits();
      const asked = { ...question(), limits: now, leaseMs: takeoverMs, workerMs: WORKER_MS };
      return readAnswer(await client.eval(TURNS_SCRIPT, keys.length, ...keys, JSON.stringify(asked)));
    },
    async list() {
      const [entries, held] = await Promise.all([client.hgetall(jobs), client.zrange(leases, '0', '-1')]);
      return Object.entries(entries).map(([id, text]) => ({ id, entry: readEntry(text), hasTurn: held.includes(id) }));
    },
  };
}

function readAnswer(answer: unknown): Answer {
  const [begun = '', soonest, ...rest] = z
    .array(z.union([z.string(), z.number()]))
    .parse(answer)
    .map(String);
  const turns: Answer['turns'] = [];
  for (let at = 0; at + 1 < rest.length; at += 2)
    turns.push({ id: rest[at] ?? '', entry: readEntry(rest[at + 1] ?? '') });
  return {
    begun: begun === '' ? undefined : readEntry(begun),
    soonestMs: Number(soonest) < 0 ? undefined : Number(soonest),
    turns,
  };
}

function readEntry(text: string): Entry {
  return Entry.parse(JSON.parse(text));
}
