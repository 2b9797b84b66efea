import { join } from 'node:path';
import { hasRetention, type RetentionLimits } from '../../core/retention/retention.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { openRegistryCache } from '../../gateway/registry/registry-cache.ts';
import { isRecord } from '../../lib/guards.ts';
import { readIfExists, writeAtomic } from '../../lib/fs.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { compressOutput } from '../../store/run/compress-output.ts';
import type { WorkerContext } from '../worker-context.ts';
import { pruneHome } from './prune-home.ts';

/** Who removes in journals if no user asked for it. */
const RETENTION = 'retention';
const EVERY_MS = 86_400_000;
/** After one that failed: each reads all runs. */
const RETRY_MS = 3_600_000;

/** `[keep]` of `config.toml`. Throws CONFIG_INVALID. */
export async function readRetention(home: string): Promise<RetentionLimits> {
  return resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: '/' }).keep;
}

/** `[network] cache_size` of `config.toml`, in bytes. Throws CONFIG_INVALID. */
export async function readCacheLimit(home: string): Promise<number> {
  return resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: '/' }).config.network.cacheBytes;
}

/**
 * Once a day: trims the registry cache, looks for open runs that the list lacks, compresses the output of ended runs that
 * no worker has compressed (runs of older versions, or of workers that died), and removes what `[keep]` does not keep.
 * If that fails, it is tried again an hour later.
 */
export async function pruneDaily(worker: DailyContext, signal: AbortSignal): Promise<void> {
  const { home } = worker;
  const last = await readTimes(home);
  if (isWithin(EVERY_MS, last.at) || isWithin(RETRY_MS, last.triedAt)) return;
  // Before all others, so that a faulty file costs nothing each time.
  const limits = await readRetention(home);
  const cacheLimit = await readCacheLimit(home);
  await writeTimes(home, { ...last, triedAt: new Date().toISOString() });
  await openRegistryCache(home).trim(cacheLimit);
  await worker.store.findOpenRuns({ all: true });
  await compressAll(worker, signal);
  const isDone = !hasRetention(limits) || (await pruneByLimits(worker, limits, signal));
  if (!isDone || signal.aborted) return;
  await writeTimes(home, { at: new Date().toISOString() });
}

type DailyContext = Pick<WorkerContext, 'home' | 'store' | 'log'>;

async function compressAll({ home, store, log }: DailyContext, signal: AbortSignal): Promise<void> {
  for (const runId of await store.runIds()) {
    if (signal.aborted) return;
    await compressOutput(home, runId).catch((error: unknown) => {
      log.warn({ runId, err: error }, 'output could not be compressed');
    });
  }
}

/** Returns false if another process is removing. */
async function pruneByLimits(
  { home, store, log }: DailyContext,
  limits: RetentionLimits,
  signal: AbortSignal,
): Promise<boolean> {
  const context = { home, store, now: () => new Date() };
  const done = await pruneHome(context, limits, { by: RETENTION, signal }).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'STEER_REFUSED') return undefined;
    throw error;
  });
  for (const { runId, what, bytes, why } of done?.removals ?? [])
    log.info({ runId, what, bytes, why }, 'removed by retention');
  for (const { error, ...what } of [...(done?.failed ?? []), ...(done?.failedMirrors ?? [])])
    log.warn({ ...what, err: error }, 'retention could not remove');
  return done !== undefined;
}

/** When a worker did it last, ISO 8601. A damaged file counts as missing: it is repeated. */
export async function readLastPrune(home: string): Promise<string | undefined> {
  return (await readTimes(home)).at;
}

/** ISO 8601. */
interface PruneTimes {
  /** When a worker finished it last. */
  at?: string | undefined;
  /** When a worker began it last, unless it finished. */
  triedAt?: string | undefined;
}

async function readTimes(home: string): Promise<PruneTimes> {
  const content = tryParseJson((await readIfExists(join(home, 'retention.json'))) ?? '');
  const { at, triedAt } = isRecord(content) ? content : {};
  return { at: typeof at === 'string' ? at : undefined, triedAt: typeof triedAt === 'string' ? triedAt : undefined };
}

async function writeTimes(home: string, times: PruneTimes): Promise<void> {
  await writeAtomic(join(home, 'retention.json'), `${JSON.stringify({ v: 1, ...times })}\n`);
}

/** False for a time in the future, too: the clock was wrong. */
function isWithin(ms: number, at = ''): boolean {
  const ageMs = Date.now() - Date.parse(at);
  return ageMs >= 0 && ageMs < ms;
}
