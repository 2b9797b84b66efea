import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import { transcribe } from '../../../core/transcript/transcript.ts';
import { openRegistryCache } from '../../../gateway/registry/registry-cache.ts';
import { formatSize } from '../../../lib/units.ts';
import { openStore } from '../../../store/store.ts';
import { hasRetention } from '../core/retention.ts';
import { readCacheLimit, readLastPrune, readRetention } from '../worker/prune-daily.ts';
import { planPrune } from '../worker/prune-home.ts';

/** More artifacts of ended runs than this deserve a limit, in bytes. */
const MANY_BYTES = 10 * 1024 ** 3;

/** Reports how large the runs are, and what retention could remove. */
export async function checkRetention(home: string): Promise<Finding> {
  const limits = await readRetention(home);
  const context = { home, store: openStore(home, { transcribe }), now: () => new Date() };
  const { runBytes, artifactBytes, excessBytes } = await planPrune(context, limits);
  const size = `runs take ${formatSize(runBytes)}, artifacts of ended runs ${formatSize(artifactBytes)} of it`;
  if (excessBytes > 0) {
    const says = `${size}; runs that must stay are ${formatSize(excessBytes)} larger than keep.max_size`;
    const fix = 'land or give up the runs that `halo prune --dry-run` lists, or raise keep.max_size in config.toml';
    return { name: 'retention', ok: 'warn', says, fix };
  }
  if (hasRetention(limits)) {
    const last = await readLastPrune(home);
    return { name: 'retention', ok: 'ok', says: `${size}; last daily removal: ${last ?? 'none yet'}` };
  }
  const says = `${size}; nothing is removed, because [keep] sets nothing`;
  if (artifactBytes < MANY_BYTES) return { name: 'retention', ok: 'ok', says };
  const fix = 'see what could be removed with `halo prune --older-than 30d --dry-run`, or set [keep] in config.toml';
  return { name: 'retention', ok: 'warn', says, fix };
}

/** Reports the size of the cache of registry archives. Throws CONFIG_INVALID. */
export async function checkCache(home: string): Promise<Finding> {
  const [bytes, limit] = await Promise.all([openRegistryCache(home).size(), readCacheLimit(home)]);
  const says = `archives of registries take ${formatSize(bytes)} of at most ${formatSize(limit)} (network.cache_size)`;
  if (bytes <= limit) return { name: 'cache', ok: 'ok', says };
  return { name: 'cache', ok: 'warn', says, fix: 'remove the surplus with `halo prune`' };
}
