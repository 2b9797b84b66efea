import { join } from 'node:path';
import { hasRetention, type RetentionLimits } from '../core/retention.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { readHostFile } from '../../../config/host-rules.ts';
import { openRegistryCache } from '../../../gateway/registry/registry-cache.ts';
import { mapConcurrent } from '../../../lib/async.ts';
import { defined, isRecord } from '../../../lib/guards.ts';
import { readIfExists, writeAtomic } from '../../../lib/fs.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import { compressOutput } from '../../../store/run/compress-output.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { pruneHome } from './prune-home.ts';

/** Who removes in journals if no user asked for it. */
const RETENTION = 'retention';
const EVERY_MS = 86_400_000;
/** How far the clock may be ahead of everything that the home has recorded before nothing is removed for a day. */
const MAX_SILENCE_MS = 7 * EVERY_MS;
/** After one that failed: each reads all runs. */
const RETRY_MS = 3_600_000;
const MAX_READS = 8;

/** `[keep]` of `config.toml`. Throws CONFIG_INVALID. */
export async function readRetention(home: string): Promise<RetentionLimits> {
  return (await readHostFile(home)).keep;
}

/** `[network] cache_size` of `config.toml`, in bytes. Throws CONFIG_INVALID. */
export async function readCacheLimit(home: string): Promise<number> {
  return (await readHostFile(home)).config.network.cacheBytes;
}

/**
 * Once a day: trims the registry cache, looks for open runs that the list lacks, compresses the output of ended runs that
 * no worker has compressed (because it died), and removes what `[keep]` does not keep.
 * If that fails, it is tried again an hour later. If the clock is far ahead of the newest time that the home has recorded,
 * it may be wrong, and a removal cannot be undone: nothing is removed until it was so for a day.
 */
export async function pruneDaily(worker: DailyContext, signal: AbortSignal): Promise<void> {
  const { home, log } = worker;
  const now = worker.now();
  const last = await readTimes(home);
  if (isWithin(EVERY_MS, now, last.at) || isWithin(RETRY_MS, now, last.triedAt)) return;
  // Before all others, so that a faulty file costs nothing each time.
  const limits = await readRetention(home);
  const cacheLimit = await readCacheLimit(home);
  const triedAt = new Date(now).toISOString();
  const doubt = hasRetention(limits) ? await findDoubt(worker, last) : undefined;
  await writeTimes(home, { ...last, triedAt, ...defined({ doubtedAt: doubt?.since }) });
  await openRegistryCache(home).trim(cacheLimit);
  await worker.store.findOpenRuns({ all: true });
  await compressAll(worker, signal);
  if (doubt !== undefined)
    return log.warn(doubt, 'the clock is far ahead of all records; retention removes nothing for a day');
  const isDone = !hasRetention(limits) || (await pruneByLimits(worker, limits, signal));
  if (!isDone || signal.aborted) return;
  await writeTimes(home, { at: new Date(now).toISOString() });
}

type DailyContext = Pick<WorkerContext, 'home' | 'store' | 'log' | 'now'>;

interface ClockContext {
  store: Pick<WorkerContext['store'], 'runIds' | 'readState'>;
  /** In ms since 1970. */
  now: () => number;
}

/**
 * Throws CONTROL_REFUSED if the clock is far ahead of all that the home has recorded, and has not been so for a day: the ages
 * of runs may be wrong.
 */
export async function assertPlausibleClock({ home, ...context }: ClockContext & { home: string }): Promise<void> {
  const last = await readTimes(home);
  const doubt = await findDoubt(context, last);
  if (doubt === undefined) return;
  await writeTimes(home, { ...last, doubtedAt: doubt.since });
  const now = new Date(context.now()).toISOString();
  throw new HaloError(
    'CONTROL_REFUSED',
    `The clock says ${now}, but ${home} has recorded nothing since ${doubt.newest}: the ages of its runs may be wrong.`,
    {
      hint: 'Correct the clock if it is wrong. Otherwise use --runs or --max-size, which need no ages, or run the command again after a day.',
    },
  );
}

/** Why the clock may be wrong: the newest time that the home has recorded, and since when it seems so, ISO 8601. */
async function findDoubt(
  { store, now }: ClockContext,
  { at, doubtedAt }: PruneTimes,
): Promise<{ newest: string; since: string } | undefined> {
  if (isWithin(MAX_SILENCE_MS, now(), at)) return undefined;
  const states = await mapConcurrent(await store.runIds(), MAX_READS, (runId) =>
    store.readState(runId).catch(() => undefined),
  );
  const times = [at, ...states.flatMap((state) => [state?.createdAt, state?.startedAt, state?.endedAt])];
  const newest = times.filter((time) => time !== undefined).reduce((a, b) => (a > b ? a : b), '');
  if (newest === '' || now() - Date.parse(newest) <= MAX_SILENCE_MS) return undefined;
  const doubtedMs = now() - Date.parse(doubtedAt ?? '');
  if (doubtedMs >= EVERY_MS && doubtedMs <= MAX_SILENCE_MS) return undefined;
  return { newest, since: doubtedMs >= 0 && doubtedMs < EVERY_MS ? doubtedAt! : new Date(now()).toISOString() };
}

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
  { home, store, log, now }: DailyContext,
  limits: RetentionLimits,
  signal: AbortSignal,
): Promise<boolean> {
  const context = { home, store, now: () => new Date(now()) };
  const done = await pruneHome(context, limits, { by: RETENTION, signal }).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'CONTROL_REFUSED') return undefined;
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
  /** Since when the clock seems to be wrong. */
  doubtedAt?: string | undefined;
}

async function readTimes(home: string): Promise<PruneTimes> {
  const content = tryParseJson((await readIfExists(join(home, 'retention.json'))) ?? '');
  const times = isRecord(content) ? content : {};
  const timeOf = (name: string) => {
    const time = times[name];
    return typeof time === 'string' && Number.isFinite(Date.parse(time)) ? time : undefined;
  };
  return { at: timeOf('at'), triedAt: timeOf('triedAt'), doubtedAt: timeOf('doubtedAt') };
}

async function writeTimes(home: string, times: PruneTimes): Promise<void> {
  await writeAtomic(join(home, 'retention.json'), `${JSON.stringify({ v: 1, ...times })}\n`);
}

/** False for a time in the future, too: the clock was wrong. */
function isWithin(ms: number, now: number, at = ''): boolean {
  const ageMs = now - Date.parse(at);
  return ageMs >= 0 && ageMs < ms;
}
