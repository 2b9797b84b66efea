import { describe, it, vi } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { FULL, LEVEL } from '../../support/faults/level.ts';
import { WORKER_POINTS } from '../../support/faults/points.ts';
import { surviveKill } from './survive-kill.ts';

vi.setConfig({ maxConcurrency: 4 });

/** Where something lasts from one moment to the next; `npm run test:chaos` takes all of them. */
const LEAN: Failpoint[] = [
  'story.started.after',
  'agent.after',
  'import.after',
  'objects.after',
  'ref.after',
  'story.ended.before',
  'story.ended.after',
  'close.before',
  'write-back.written',
  'enqueue.before',
  'job.done',
  'run.ended.after',
];
const points = LEVEL < FULL ? LEAN : WORKER_POINTS;

describe.concurrent(
  'hazard 1: a worker killed at any failpoint: another one finishes, one commit for each story',
  () => {
    it.for(points)('%s', { timeout: 300_000 }, (at, context) => surviveKill(at, context));
  },
);
