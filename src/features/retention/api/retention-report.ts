import type { PruneReport, PruneRequest } from './prune-schemas.ts';
import { hasRetention, type RetentionLimits, type RunRemoval } from '../core/retention.ts';
import { openRegistryCache } from '../../../gateway/registry/registry-cache.ts';
import { defined } from '../../../lib/guards.ts';
import { parseDuration, parseSize } from '../../../lib/units.ts';
import type { Store } from '../../../store/store.ts';
import { assertPlausibleClock, readCacheLimit, readRetention } from '../worker/prune-daily.ts';
import { planPrune, pruneHome, type PruneContext, type PruneResult } from '../worker/prune-home.ts';
import type { UnusedMirror } from '../worker/unused-mirrors.ts';

/** Something that retention removed, or would remove: of a run, a mirror that no run uses, or archives of registries. */
export type Removed = PruneReport['removed'][number];

interface PruneHost {
  home: string;
  store: Store;
  by: string;
  /** In ms since 1970; absent: of this machine. */
  now?: () => number;
  signal?: AbortSignal | undefined;
}

export function toLimits({ artifacts, runs, journals, maxSize }: PruneRequest): RetentionLimits {
  return defined({
    artifactsMs: artifacts === undefined ? undefined : parseDuration(artifacts),
    runs,
    journalsMs: journals === undefined ? undefined : parseDuration(journals),
    maxBytes: maxSize === undefined ? undefined : parseSize(maxSize),
  });
}

/** Removes what the limits do not keep, or only reports it. Throws CONFIG_INVALID, CONTROL_REFUSED. */
export async function reportPrune(
  { home, store, by, now = Date.now, signal }: PruneHost,
  request: PruneRequest,
): Promise<PruneReport> {
  const limits = { ...(await readRetention(home)), ...toLimits(request) };
  const context = { home, store, now: () => new Date(now()) };
  const needsAges = limits.artifactsMs !== undefined || limits.journalsMs !== undefined;
  // A removal cannot be undone.
  if (needsAges && !request.dryRun) await assertPlausibleClock({ home, store, now });
  const done = request.dryRun ? await preview(context, limits) : await pruneHome(context, limits, { by, signal });
  const { plan } = done;
  const failedRuns = [...plan.unreadable, ...done.failed].map((failure) => ({ ...failure, mirror: null }));
  const failedMirrors = done.failedMirrors.map((failure) => ({ ...failure, runId: null }));
  const cached = await pruneCache(home, request.dryRun === true);
  const removed = [...done.removals.map(ofRun), ...done.mirrors.map(ofMirror), ...cached];
  return {
    removed,
    bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0),
    heldBack: plan.kept,
    failed: [...failedRuns, ...failedMirrors].map((failure) => ({ ...failure, error: failure.error.message })),
    excessBytes: plan.excessBytes,
    hasLimits: hasRetention(limits),
  };
}

async function preview(context: PruneContext, limits: RetentionLimits): Promise<PruneResult> {
  const plan = await planPrune(context, limits);
  return { plan, removals: plan.removals, mirrors: plan.mirrors, failed: [], failedMirrors: [] };
}

/** The cache keeps its limit by itself, unless the limit was lowered. */
async function pruneCache(home: string, dryRun: boolean): Promise<Removed[]> {
  const cache = openRegistryCache(home);
  const limit = await readCacheLimit(home);
  const bytes = dryRun ? Math.max(0, (await cache.size()) - limit) : await cache.trim(limit);
  if (bytes === 0) return [];
  const why = 'archives of registries take more than network.cache_size';
  return [{ runId: null, mirror: null, what: 'cache', bytes, why }];
}

function ofRun({ runId, what, bytes, why }: RunRemoval): Removed {
  return { runId, mirror: null, what, bytes, why };
}

function ofMirror({ name, bytes }: UnusedMirror): Removed {
  return { runId: null, mirror: name, what: 'mirror', bytes, why: 'no run uses it' };
}
