import { expect, type TestContext } from 'vitest';
import type { Failpoint, Fault } from '../../../src/core/failure/failpoint-names.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { Cell } from './matrix.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { IGNORES_INSTALLED, openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** What the reporter prints and records of a test. */
    chaos?: (Cell & { fault: Fault })[];
  }
}

const SETTINGS = ['land.mode="ff"', 'prd.write_back=true'];

/** Two stories, fast-forward and write-back: a worker kills itself, another one finishes, and all promises hold. */
export function surviveKill(at: Failpoint, context: TestContext, settings: string[] = []): Promise<JournalEvent[]> {
  return surviveKills([at], context, { settings });
}

interface Killing {
  settings?: string[];
  stories?: number;
  /** Gets the journal as each killed worker left it. */
  afterKill?: (events: JournalEvent[]) => void;
}

/** The same for workers that kill themselves one after the other, each at the next of these places. */
export async function surviveKills(
  points: Failpoint[],
  { task }: TestContext,
  { settings = [], stories = 2, afterKill }: Killing,
): Promise<JournalEvent[]> {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const ids = Array.from({ length: stories }, (_, index) => String.fromCharCode(65 + index));
    const patient = points.length > 1 ? ['retry.crashes=50'] : [];
    const submission = ids.map((id) => ({ id }));
    const runId = await world.submit(repository, submission, [...SETTINGS, ...patient, ...settings]);
    const lengths: number[] = [];
    for (const at of points) {
      const worker = world.startWorker({ HALO_FAILPOINT: `${at}:kill` });
      await worker.ended;
      expect(worker.process.signalCode, `${at}: ${worker.stderr()}`).toBe('SIGKILL');
      await world.expireLocks();
      afterKill?.(world.journal(runId));
      lengths.push(world.journal(runId).length);
    }
    const last = world.startWorker();
    await world.untilEnded(runId);
    await stopWorker(last);
    // The next worker finds the remaining work.
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'may follow', landed: ids }]);
    const events = world.journal(runId);
    task.meta.chaos = points.map((at, index) => ({
      at,
      fault: 'kill',
      outcome: describe(events, lengths[index]!),
    }));
    return events;
  } finally {
    await world.close();
  }
}

/** What became of the story that was under way when a kill left this many events. */
function describe(events: JournalEvent[], length: number): string {
  const before = events.slice(0, length).findLast(({ type }) => type === 'story.started' || type === 'story.ended');
  const after = events.slice(length);
  const end = after.findIndex(({ type }) => type === 'story.ended');
  const next = end < 0 ? after : after.slice(0, end + 1);
  if (next.some((event) => event.type === 'story.ended' && event.recovered === true)) return 'found on the branch';
  if (next.some(({ type }) => type === 'retry.scheduled')) return 'retried';
  const isRepeated = before?.type === 'story.started' && next.some(({ type }) => type === 'story.started');
  return isRepeated ? 'repeated' : 'continues';
}
