import { cannotWrite } from '../../repository/write-error.ts';
import { readRegularText, writeAtomic } from '../../../lib/fs.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../../../core/agent.ts';
import type { ModelRateLimit } from '../../../config/config.ts';
import { isRecord } from '../../../lib/guards.ts';

/** Maximum requests and tokens per minute. */
export interface RateLimit {
  rpm: number;
  tpm: number;
}

/** For models without limits in the configuration. */
const DEFAULTS: Record<string, RateLimit> = {
  'gpt-5.1-codex-mini': { rpm: 500, tpm: 200_000 },
  'gpt-5.1-codex': { rpm: 500, tpm: 500_000 },
  'gpt-5.2-codex': { rpm: 500, tpm: 500_000 },
};
const OTHERS: RateLimit = { rpm: 500, tpm: 200_000 };

/** The usage of a model in the window in which its last run ended. */
export interface Window extends RateLimit {
  /** ISO 8601. */
  window_start: string;
  requests: number;
  tokens: number;
}

/** `.ralph/rate_limit.json`: by the name of the model. */
export type RateCache = Record<string, Window>;

const WINDOW_MS = 60_000;
const MAX_BYTES = 1024 * 1024;

/** Limits in `[rate]` override the defaults. */
export function limitOf(model: string, set: ModelRateLimit = {}): RateLimit {
  const usual = DEFAULTS[model] ?? OTHERS;
  return { rpm: set.rpm ?? usual.rpm, tpm: set.tpm ?? usual.tpm };
}

/** The delay in ms before a run with the model: until the window in which the limit was reached ends. */
export function pauseFor(
  cache: RateCache,
  { model, limit, now }: { model: string; limit: RateLimit; now: Date },
): number {
  const window = cache[model];
  if (window === undefined) return 0;
  const left = Date.parse(window.window_start) + WINDOW_MS - now.getTime();
  const isFull = window.requests >= limit.rpm || window.tokens >= limit.tpm;
  return isFull && left > 0 ? Math.min(left, WINDOW_MS) : 0;
}

/** The usage of a run in its last minute. */
export async function recentUsage(events: AsyncIterable<JournalEvent>, now: Date): Promise<Usage> {
  const since = now.getTime() - WINDOW_MS;
  let usage = NO_USAGE;
  for await (const event of events)
    if (event.type === 'model.used' && Date.parse(event.at) > since) usage = addUsage(usage, event.usage);
  return usage;
}

/** The cache after a run has ended. */
export function countRun(
  cache: RateCache,
  { model, limit, now, usage }: { model: string; limit: RateLimit; now: Date; usage: Usage },
): RateCache {
  const before = cache[model];
  const goesOn = before !== undefined && now.getTime() - Date.parse(before.window_start) < WINDOW_MS;
  const start = goesOn ? before : { window_start: now.toISOString(), requests: 0, tokens: 0 };
  return {
    ...cache,
    [model]: {
      window_start: start.window_start,
      requests: start.requests + usage.requests,
      tokens: start.tokens + usage.inputTokens + usage.outputTokens,
      ...limit,
    },
  };
}

/** A missing or damaged cache counts as empty, because it only avoids rejected requests. */
export async function readRateCache(path: string): Promise<RateCache> {
  try {
    const parsed = JSON.parse(await readRegularText(path, MAX_BYTES)) as unknown;
    if (!isRecord(parsed)) return {};
    return Object.fromEntries(Object.entries(parsed).filter((entry): entry is [string, Window] => isWindow(entry[1])));
  } catch {
    return {};
  }
}

export async function writeRateCache(path: string, cache: RateCache): Promise<void> {
  await writeAtomic(path, `${JSON.stringify(cache, null, 2)}\n`).catch(cannotWrite(path));
}

function isWindow(value: unknown): value is Window {
  if (!isRecord(value)) return false;
  const { window_start, requests, tokens } = value;
  const isDate = typeof window_start === 'string' && !Number.isNaN(Date.parse(window_start));
  return isDate && typeof requests === 'number' && typeof tokens === 'number';
}
