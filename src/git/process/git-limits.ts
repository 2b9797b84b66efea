import { AsyncLocalStorage } from 'node:async_hooks';
import { defined } from '../../lib/guards.ts';

interface Limits {
  timeoutMs?: number;
  signal?: AbortSignal;
}

const limits = new AsyncLocalStorage<Limits>();

/**
 * Runs work whose git commands end after a time, unless they name another one, and with a signal: for repositories that are
 * not trusted, in which a pipe instead of a file would let git wait forever.
 */
export function limitGit<T>(own: { timeoutMs: number; signal?: AbortSignal | undefined }, work: () => T): T {
  return limits.run({ timeoutMs: own.timeoutMs, ...defined({ signal: own.signal }) }, work);
}

/** How long a question about a checkout may take, which takes milliseconds, in ms. */
export const QUESTION_MS = 30_000;

export function questionMs(): number {
  return limits.getStore()?.timeoutMs ?? QUESTION_MS;
}

/** The options of a git command, with the limits of the work that it is part of. */
export function withLimits<T extends object>(options: T & Limits): T & Limits {
  const own = limits.getStore();
  if (own === undefined) return options;
  const signals = [own.signal, options.signal].filter((signal) => signal !== undefined);
  return { ...own, ...options, ...(signals.length > 0 && { signal: AbortSignal.any(signals) }) };
}
