import { readEngines } from '../../../config/host-rules.ts';
import { findOutages } from '../../../core/engine/engine-outage.ts';
import { ignore, sleep } from '../../../lib/async.ts';
import type { TakingWorker } from '../../../queue/scheduler/scheduler.ts';
import { isEngineDrained } from '../../../store/drained-engines.ts';
import { readOutages, writeOutages } from '../../../store/engine-outages.ts';
import { EngineKeys } from '../store/engine-keys.ts';

interface Watched {
  home: string;
  /** The workers that run. Throws REDIS_UNAVAILABLE. */
  takingWorkers: () => Promise<TakingWorker[]>;
}

const EVERY_MS = 20_000;

/** Keeps a record of the engines of config.toml that should take stories and cannot, until the signal aborts. Never rejects. */
export async function watchOutages(watched: Watched, signal: AbortSignal): Promise<void> {
  // What cannot be read now, such as Redis or an invalid file, says nothing about the engines.
  for (; !signal.aborted; await sleep(EVERY_MS, signal)) await lookForOutages(watched, new Date()).catch(ignore);
}

/** Throws CONFIG_INVALID, REDIS_UNAVAILABLE, DISK_FAILED. */
export async function lookForOutages({ home, takingWorkers }: Watched, now: Date): Promise<void> {
  const configured = await readEngines(home);
  const keys = new EngineKeys(home);
  const isUsed = await Promise.all(
    configured.map(async (engine) => (await keys.hasJoined(engine)) && !(await isEngineDrained(home, engine.name))),
  );
  const engines = configured.filter((_engine, index) => isUsed[index]).map(({ name }) => name);
  const known = await readOutages(home);
  if (engines.length === 0 && known.length === 0) return;
  const workers = engines.length === 0 ? [] : await takingWorkers();
  const found = findOutages(known, { engines, workers, now: now.toISOString() });
  if (found.length > 0 || known.length > 0) await writeOutages(home, found);
}
