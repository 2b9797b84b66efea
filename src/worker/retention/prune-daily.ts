import { join } from 'node:path';
import { hasRetention, type RetentionLimits } from '../../core/retention/retention.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { isRecord } from '../../lib/guards.ts';
import { readIfExists, writeAtomic } from '../../lib/fs.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import type { WorkerContext } from '../worker-context.ts';
import { pruneHome } from './prune-home.ts';

/** Who removes in journals if no user asked for it. */
const RETENTION = 'retention';
const EVERY_MS = 86_400_000;

/** `[keep]` of `config.toml`. Throws CONFIG_INVALID. */
export async function readRetention(home: string): Promise<RetentionLimits> {
  return resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: '/' }).keep;
}

/** Removes what `[keep]` does not keep, if it sets anything and the last time was a day ago. */
export async function pruneDaily(
  { home, store, log }: Pick<WorkerContext, 'home' | 'store' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const now = () => new Date();
  const last = await readLastPrune(home);
  if (last !== undefined && isRecent(last)) return;
  const limits = await readRetention(home);
  if (!hasRetention(limits)) return;
  const done = await pruneHome({ home, store, now }, limits, { by: RETENTION, signal }).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'STEER_REFUSED') return undefined;
    throw error;
  });
  if (done === undefined || signal.aborted) return;
  for (const { runId, what, bytes, why } of done.removals)
    log.info({ runId, what, bytes, why }, 'removed by retention');
  for (const { runId, error } of done.failed) log.warn({ runId, err: error }, 'retention could not remove');
  await writeAtomic(join(home, 'retention.json'), `${JSON.stringify({ v: 1, at: now().toISOString() })}\n`);
}

/** When a worker removed old runs last, ISO 8601. A damaged file counts as missing: removal may be repeated. */
export async function readLastPrune(home: string): Promise<string | undefined> {
  const content = tryParseJson((await readIfExists(join(home, 'retention.json'))) ?? '');
  return isRecord(content) && typeof content['at'] === 'string' ? content['at'] : undefined;
}

/** False for a time in the future, too: the clock was wrong. */
function isRecent(at: string): boolean {
  const ageMs = Date.now() - Date.parse(at);
  return ageMs >= 0 && ageMs < EVERY_MS;
}
