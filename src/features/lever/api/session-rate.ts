import { cannotWrite } from '../../../api/repository/write-error.ts';
import { readRegularText, writeAtomic } from '../../../lib/fs.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import type { Config } from '../../../config/config.ts';
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

/** A request to a model; `ts` is in seconds since 1970. */
interface CountedRequest {
  ts: number;
  model: string;
  tokens: number;
}

/** `.ralph/rate_limit.json`: the requests of the last minute, as lever's script keeps them. */
interface RateCache {
  requests: CountedRequest[];
}

const WINDOW_SECONDS = 60;
const MAX_BYTES = 1024 * 1024;
const MIN_PROMPT_TOKENS = 1000;

/** Limits in `[rate]` override the defaults. */
export function limitOf(model: string, set: Config['rate'][string] = {}): RateLimit {
  const usual = DEFAULTS[model] ?? OTHERS;
  return { rpm: set.rpm ?? usual.rpm, tpm: set.tpm ?? usual.tpm };
}

/** The tokens that a prompt of so many bytes probably takes. The rule is that of lever's script. */
export function estimateTokens(promptBytes: number): number {
  return Math.max(MIN_PROMPT_TOKENS, Math.ceil(promptBytes / 4));
}

/**
 * The delay in ms before a run whose prompt takes so many tokens: until the requests of the last 60 seconds leave room
 * for it, or until there are none if it does not fit at all.
 */
export function delayFor(
  { requests }: RateCache,
  { model, limit, tokens, now }: { model: string; limit: RateLimit; tokens: number; now: Date },
): number {
  const seconds = now.getTime() / 1000;
  const recent = requests
    .filter((request) => request.model === model && request.ts + WINDOW_SECONDS > seconds && request.ts <= seconds)
    .sort((a, b) => a.ts - b.ts);
  let used = recent.reduce((sum, request) => sum + request.tokens, 0);
  let count = recent.length;
  let delay = 0;
  for (const { ts, tokens: spent } of recent) {
    if (count + 1 <= limit.rpm && used + tokens <= limit.tpm) break;
    count -= 1;
    used -= spent;
    delay = ts + WINDOW_SECONDS - seconds;
  }
  return Math.ceil(delay * 1000);
}

/** The requests of a run to its model in the last minute. */
export async function recentRequests(
  frames: AsyncIterable<{ event: JournalEvent }>,
  { model, now }: { model: string; now: Date },
): Promise<CountedRequest[]> {
  const since = now.getTime() - WINDOW_SECONDS * 1000;
  const requests: CountedRequest[] = [];
  for await (const { event } of frames) {
    if (event.type !== 'model.used' || Date.parse(event.at) <= since) continue;
    const { inputTokens, outputTokens } = event.usage;
    requests.push({ ts: Date.parse(event.at) / 1000, model, tokens: inputTokens + outputTokens });
  }
  return requests;
}

/** Adds requests, and drops those that are older than a minute. */
export function addRequests(cache: RateCache, requests: readonly CountedRequest[], now: Date): RateCache {
  const since = now.getTime() / 1000 - WINDOW_SECONDS;
  return { requests: [...cache.requests, ...requests].filter(({ ts }) => ts > since) };
}

/** A missing or damaged cache counts as empty, because it only avoids rejected requests. */
export async function readRateCache(path: string): Promise<RateCache> {
  try {
    const parsed = JSON.parse(await readRegularText(path, MAX_BYTES)) as unknown;
    if (!isRecord(parsed) || !Array.isArray(parsed['requests'])) return { requests: [] };
    return { requests: parsed['requests'].filter(isCountedRequest) };
  } catch {
    return { requests: [] };
  }
}

export async function writeRateCache(path: string, cache: RateCache): Promise<void> {
  await writeAtomic(path, `${JSON.stringify(cache, null, 2)}\n`).catch(cannotWrite(path));
}

function isCountedRequest(value: unknown): value is CountedRequest {
  if (!isRecord(value)) return false;
  const { ts, model, tokens } = value;
  return typeof ts === 'number' && typeof model === 'string' && typeof tokens === 'number' && tokens >= 0;
}
