import { expect, type TestContext } from 'vitest';
import type { Failpoint, Fault } from '../../../src/core/failure/failpoint-names.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { IGNORES_INSTALLED, openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';

/** What the reporter prints and records of a test. */
export interface Cell {
  at: Failpoint;
  fault: Fault;
  outcome: string;
}

declare module 'vitest' {
  interface TaskMeta {
    chaos?: Cell[];
  }
}

/** Two stories, fast-forward and write-back: a worker kills itself, another one finishes, and all promises hold. */
export async function surviveKill(at: Failpoint, { task }: TestContext, more: string[] = []): Promise<JournalEvent[]> {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const settings = ['land.mode="ff"', 'prd.write_back=true', ...more];
    const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], settings);
    const first = world.startWorker({ HALO_FAILPOINT: `${at}:kill` });
    await first.ended;
    expect(first.process.signalCode, first.stderr()).toBe('SIGKILL');
    const second = world.startWorker();
    await world.untilEnded(runId);
    await stopWorker(second);
    // The next worker finds the remaining work.
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'may follow', landed: ['A', 'B'] }]);
    task.meta.chaos = [{ at, fault: 'kill', outcome: describe(world.journal(runId)) }];
    return world.journal(runId);
  } finally {
    await world.close();
  }
}

function describe(events: JournalEvent[]): string {
  const ends = events.filter((event) => event.type === 'story.ended');
  if (ends.some(({ recovered }) => recovered === true)) return 'found on the branch';
  if (events.some(({ type }) => type === 'retry.scheduled')) return 'retried';
  const starts = events.filter(({ type }) => type === 'story.started').length;
  return starts > ends.length ? 'repeated' : 'continues';
}
