import { describe, expect, it, vi, type TestContext } from 'vitest';
import type { Failpoint, Fault } from '../../../src/core/failure/failpoint-names.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { REVIEW_POINTS, SNAPSHOT_POINTS, TESTS_POINTS, WORKER_POINTS } from '../../support/faults/points.ts';
import {
  killWorker,
  openWorld,
  REVIEWED,
  TESTS_FIRST,
  stopWorker,
  tidyUp,
  WITH_SNAPSHOT,
  type World,
  IGNORES_INSTALLED,
} from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

vi.setConfig({ maxConcurrency: 4 });

/** Failpoints dealt out to as many runs, each in the order in which a run comes by. */
const RUNS = [
  ...[0, 1, 2, 3].map((run) => WORKER_POINTS.filter((_at, index) => index % 4 === run)),
  TESTS_POINTS,
  REVIEW_POINTS,
  SNAPSHOT_POINTS,
];
const STORIES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((id) => ({ id }));
/** Each fault takes one; and all errors look the same here. */
const PATIENT = [
  'retry.infrastructure.retries=20',
  'retry.environment.retries=20',
  'retry.crashes=50',
  'breaker.same_error=100',
  'retry.infrastructure.backoff="10ms"',
];

describe.concurrent('hazard 1: faults at many failpoints of one run', skipFor(belowLevel(FULL)), () => {
  it.for(RUNS)('a worker that hangs is killed, repeatedly: %s', { timeout: 1_200_000 }, (points, context) =>
    survive(points, 'hang', context, async (world) => {
      for (const at of points) {
        const worker = world.startWorker({ HALO_FAILPOINT: `${at}:hang` });
        await worker.says(`failpoint ${at}: hang`);
        await killWorker(worker);
        await world.expireLocks();
      }
      return world.startWorker();
    }),
  );

  it.for(RUNS)('an error is retried: %s', { timeout: 1_200_000 }, (points, context) =>
    survive(points, 'throw', context, (world) =>
      Promise.resolve(world.startWorker({ HALO_FAILPOINT: points.map((at) => `${at}@1:throw`).join() })),
    ),
  );

  it.for(RUNS)('a delay has no effect: %s', { timeout: 1_200_000 }, (points, context) =>
    survive(points, 'delay', context, (world) =>
      Promise.resolve(world.startWorker({ HALO_FAILPOINT: points.map((at) => `${at}:delay=50`).join() })),
    ),
  );
});

type Go = (world: World) => Promise<ReturnType<World['startWorker']>>;

/** The faults come about while `go` is under way, or in the worker that it leaves to finish. */
async function survive(points: Failpoint[], fault: Fault, { task }: TestContext, go: Go): Promise<void> {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const stories = fault === 'hang' ? STORIES : STORIES.slice(0, 2);
    const settings = [
      'land.mode="ff"',
      'prd.write_back=true',
      ...PATIENT,
      ...(points === TESTS_POINTS ? TESTS_FIRST : points === SNAPSHOT_POINTS ? WITH_SNAPSHOT : []),
      ...(points === REVIEW_POINTS ? REVIEWED : []),
    ];
    const runId = await world.submit(repository, stories, settings);
    const last = await go(world);
    await world.untilEnded(runId, 600_000);
    await stopWorker(last);
    if (fault !== 'hang') {
      const missed = points.filter((at) => !last.stderr().includes(`failpoint ${at}: ${fault}`));
      expect(missed, `where no ${fault} came about`).toEqual([]);
    }
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'may follow', landed: stories.map(({ id }) => id) }]);
    task.meta.chaos = points.map((at) => ({ at, fault, outcome: OUTCOMES[fault] }));
  } finally {
    await world.close();
  }
}

const OUTCOMES: Record<Fault, string> = { kill: '', hang: 'taken over', throw: 'recovered', delay: 'continues' };
