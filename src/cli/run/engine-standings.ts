import type { WorkerView } from '../../api/operations/schemas.ts';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { sleep } from '../../lib/async.ts';

/** Whether each engine with a worker is away, by its name. */
export type Standings = ReadonlyMap<string, boolean>;

const EVERY_MS = 5_000;

/** Says when an engine of a worker stops answering, and when it answers again, until the signal aborts. Never rejects. */
export async function watchStandings(
  read: () => Promise<readonly WorkerView[]>,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let before: Standings = new Map();
  for (; !signal.aborted; await sleep(EVERY_MS, signal)) {
    const workers = await read().catch(() => undefined);
    if (workers === undefined) continue;
    const now = standingsOf(workers);
    for (const line of describeChanges(before, now)) say(line);
    before = now;
  }
}

/** An engine is away if all of its workers say so. */
export function standingsOf(workers: readonly Pick<WorkerView, 'engine' | 'takes' | 'away'>[]): Standings {
  const standings = new Map<string, boolean>();
  for (const { engine, takes, away = false } of workers)
    if (engine !== undefined && takes === 'any') standings.set(engine, away && (standings.get(engine) ?? true));
  return standings;
}

/** A line for each engine that has changed, or is away when it is first seen. One whose worker has ended is not mentioned. */
export function describeChanges(before: Standings, now: Standings): string[] {
  return [...now].flatMap(([name, away]) => {
    if (away === (before.get(name) ?? false)) return [];
    const why = name === LOCAL_ENGINE ? 'halo doctor' : `halo engine check ${safeLine(name)}`;
    return away
      ? `engine ${safeLine(name)}: does not answer, or lacks an image; \`${why}\` says more`
      : `engine ${safeLine(name)}: can run stories again`;
  });
}
