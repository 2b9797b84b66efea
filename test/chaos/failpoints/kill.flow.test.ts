import { describe, expect, it, vi, type TestContext } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { REVIEW_POINTS, SNAPSHOT_POINTS, TESTS_POINTS, WORKER_POINTS } from '../../support/faults/points.ts';
import { REVIEWED, TESTS_FIRST, WITH_SNAPSHOT } from '../../support/faults/world.ts';
import { surviveKill, surviveKills } from './survive-kill.ts';

vi.setConfig({ maxConcurrency: 4 });

/**
 * Where something lasts from one moment to the next, in the order in which a run comes by: until a story has passed, and
 * from there on. `npm run test:chaos` takes all of them, each in a run of its own.
 */
const UNTIL_LANDED: Failpoint[] = ['story.started.after', 'agent.after', 'import.after', 'objects.after', 'ref.after'];
const AFTERWARDS: Failpoint[] = [
  'story.ended.after',
  'close.before',
  'write-back.written',
  'enqueue.before',
  'job.done',
  'run.ended.after',
];
const points = LEVEL < FULL ? [] : WORKER_POINTS;
const testsPoints: Failpoint[] = LEVEL < FULL ? ['red.after'] : TESTS_POINTS;

describe.concurrent('hazard 1: a worker killed at any failpoint: another one finishes, one commit for each story', () => {
  it.for(points)('%s', async (at, context) => void (await surviveKill(at, context)));

  it.for(LEVEL < FULL ? [] : SNAPSHOT_POINTS)('%s', async (at, context) => {
    const events = await surviveKill(at, context, WITH_SNAPSHOT);
    expect(events.filter(({ type }) => type === 'snapshot.refused')).toEqual([]);
    const made = events.filter(({ type }) => type === 'setup.ended');
    expect(made).toHaveLength(['snapshot.seal', 'snapshot.before'].includes(at) ? 2 : 1);
  });

  // What becomes of one kill here also depends on those around it: the table has the outcomes of single ones.
  const withoutOutcomes = (context: TestContext) => (context.task.meta.chaos = []);

  it.runIf(LEVEL < FULL)([...SNAPSHOT_POINTS, ...UNTIL_LANDED].join(', '), { timeout: 1_200_000 }, async (context) => {
    const setups: number[] = [];
    const events = await surviveKills([...SNAPSHOT_POINTS, ...UNTIL_LANDED], context, {
      settings: WITH_SNAPSHOT,
      afterKill: (before) => setups.push(before.filter(({ type }) => type === 'setup.ended').length),
    });
    withoutOutcomes(context);
    expect(events.filter(({ type }) => type === 'snapshot.refused')).toEqual([]);
    // A volume without a record is not used.
    const made = events.filter(({ type }) => type === 'setup.ended').length;
    expect(Object.fromEntries(SNAPSHOT_POINTS.map((at, index) => [at, [setups[index], made]]))).toEqual({
      'snapshot.setup': [0, 3],
      'snapshot.seal': [1, 3],
      'snapshot.before': [2, 3],
      'snapshot.after': [3, 3],
    });
  });

  it.runIf(LEVEL < FULL)(AFTERWARDS.join(', '), { timeout: 1_200_000 }, async (context) => {
    await surviveKills(AFTERWARDS, context, { settings: WITH_SNAPSHOT, stories: 3 });
    withoutOutcomes(context);
  });

  it.for(LEVEL < FULL ? [] : REVIEW_POINTS)('%s', async (at, context) => {
    const events = await surviveKill(at, context, REVIEWED);
    const ofA = events.filter((event) => event.type === 'review.ended' && event.story === 'A');
    expect(ofA).toHaveLength(at === 'review.after' ? 2 : 1);
  });

  it.for(testsPoints)('%s', async (at, context) => {
    const events = await surviveKills([at], context, { settings: TESTS_FIRST, stories: LEVEL < FULL ? 1 : 2 });
    const locked = events.filter((event) => event.type === 'tests.locked');
    const ofA = locked.filter(({ story }) => story === 'A');
    // Tests that were locked before the kill are those that land; otherwise they are written again.
    expect(ofA).toMatchObject(
      at === 'red.after' || at.startsWith('refactor.') ? [{ attempt: 1 }, { attempt: 1, from: 1 }] : [{ attempt: 1 }],
    );
    expect(new Set(ofA.map(({ commit }) => commit)).size).toBe(1);
  });
});
