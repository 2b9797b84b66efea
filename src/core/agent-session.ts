import type { FailureCause } from './failure/failure.ts';

/** How an attempt begins whose agent keeps its session for the story: `continued`, or why its session is a new one. */
export type SessionStart = keyof typeof STARTS;

/** In the words of the log. */
const STARTS = {
  first: undefined,
  continued: 'continues its session',
  'other-engine': 'new session: the last attempt was on another engine',
  'other-agent': 'new session: the last one is of another agent or version',
  'too-long': 'new session: the last one was too long for the model',
  expired: 'new session: the last one has expired',
  none: 'new session: none was kept',
} as const;

/** A session that was kept. */
export interface KeptSession {
  name: string;
  /** The fencing epoch of the attempt that began it. */
  epoch: number;
  /** ISO 8601 */
  expiresAt?: string | undefined;
}

/** What decides whether an attempt continues a session. */
interface SessionFacts<T extends KeptSession> {
  /** The sessions of its story that this engine has. */
  kept: readonly T[];
  /** Whether the name of one is of this agent, its version and user. */
  isOwn: (name: string) => boolean;
  /** ISO 8601 */
  now: string;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The last attempt at the story ran on this engine, as far as is known. */
  sameEngine: boolean;
  /** Why the last failed attempt failed. */
  lastCause: FailureCause | undefined;
}

/** Decides how an attempt begins whose agent keeps its session, and which session it continues: only the latest of its story. */
export function decideSession<T extends KeptSession>(facts: SessionFacts<T>): { start: SessionStart; continued?: T } {
  const { kept, isOwn, now, attempt, sameEngine, lastCause } = facts;
  if (!sameEngine) return { start: 'other-engine' };
  const [last] = kept.toSorted((a, b) => b.epoch - a.epoch);
  if (last === undefined) return { start: attempt === 1 ? 'first' : 'none' };
  if (!isOwn(last.name)) return { start: 'other-agent' };
  if (lastCause === 'context-overflow') return { start: 'too-long' };
  if (last.expiresAt === undefined || last.expiresAt <= now) return { start: 'expired' };
  return { start: 'continued', continued: last };
}

/** Describes a start in a few words; undefined if there is nothing to say. */
export function describeSession(start: SessionStart): string | undefined {
  return STARTS[start];
}
