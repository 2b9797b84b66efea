import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { OK, scripted, type TestStory } from '../../support/halo/halo.ts';
import { cancelRun, expectCancelled, percentile, type Cancelled } from './cancel-run.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

/** What 95 of 100 cancels do not pass, from the word to the end of the last container. */
const PROMISED_MS = 5000;

let world: World;
let cancelled: Cancelled[];
const held = new Map<string, Submitted>();

beforeEach(() => {
  world = openWorld();
  cancelled = [];
  held.clear();
});
afterEach(() => world.close());

interface Submitted {
  runId: string;
  repository: ReturnType<World['addRepository']>;
}

async function submit(stories: TestStory[], settings: string[]): Promise<Submitted> {
  const repository = world.addRepository();
  return { runId: await world.submit(repository, stories, settings), repository };
}

/** Submits a run, and waits until it is where it is to be cancelled. */
async function hold(where: string, { settings, stories = [{ id: 'A' }], isThere }: Holding): Promise<void> {
  const submitted = await submit(stories, settings);
  held.set(where, submitted);
  await vi.waitFor(
    async () => {
      const { state } = await world.operations.getRun({ runId: submitted.runId });
      expect(isThere(state), `${where}: ${JSON.stringify(state.stories)}`).toBe(true);
    },
    { timeout: 120_000, interval: 100 },
  );
}

interface Holding {
  settings: string[];
  stories?: TestStory[];
  isThere: (state: RunState) => boolean;
}

const inPhase = (phase: string) => (state: RunState) => state.stories[0]?.phase === phase;
const QUICK = `echo x >> x; ${OK}`;

const HOLDINGS: Record<string, Holding> = {
  'waits for its next try': {
    settings: scripted('exit 1', ['true'], ['retry.attempts=2', 'retry.backoff="1h"', 'retry.max_backoff="1h"']),
    isThere: ({ stories: [story] }) => story?.waiting !== undefined,
  },
  'waits for approval': {
    settings: scripted(
      `case "$(cat)" in *"Story B"*) sleep 600;; esac; ${QUICK}`,
      ['true'],
      ['approval.mode="story"', 'run.on_failure="continue"'],
    ),
    stories: [{ id: 'A' }, { id: 'B' }],
    isThere: ({ stories: [first, second] }) => first?.held !== undefined && second?.phase === 'agent',
  },
  'is in setup': {
    settings: [...scripted(QUICK), 'setup=["sleep 600"]'],
    isThere: inPhase('setup'),
  },
  'is with its agent': {
    settings: scripted(`trap "" TERM; sleep 600; ${OK}`),
    isThere: inPhase('agent'),
  },
  'is in its gates': {
    settings: scripted(QUICK, ['sleep 600']),
    isThere: inPhase('gates'),
  },
};

/** Between them a run is held by a delay in the worker, where no container does it. */
const POINTS: Failpoint[] = [
  'story.started.after',
  'prepare.before',
  'export.before',
  'import.before',
  'import.after',
  'proof.before',
  'objects.before',
  'ref.before',
  'write-back.before',
];
const LEAN: Failpoint[] = ['import.before', 'objects.before'];

describe('hazard 21: a run is cancelled in each phase', { timeout: 400_000 }, () => {
  it('a run ends in time in a command or a wait, and nothing lands', skipFor(belowLevel(FULL)), async () => {
    const worker = world.startWorker({}, { concurrency: 4 });
    const names = Object.keys(HOLDINGS);
    await Promise.all(names.map((where) => hold(where, HOLDINGS[where]!)));
    // All slots are taken.
    const more = { settings: scripted(QUICK), isThere: () => true };
    await hold('is queued', more);
    await hold('is queued and paused', more);
    await world.operations.pause({ runId: held.get('is queued and paused')!.runId, now: false });
    await world.operations.pause({ runId: held.get('is in setup')!.runId, now: true });
    cancelled = await Promise.all(
      [...held.values()].map(({ runId, repository }) => cancelRun(world, runId, repository)),
    );
    await finish(worker);
  });

  it('nothing lands after the cancellation while the worker itself is slow', async ({ annotate }) => {
    const points = LEVEL < FULL ? LEAN : POINTS;
    const settings = scripted(QUICK, ['true'], ['prd.write_back=true', 'land.mode="ff"']);
    // The first to come by is held, and none of the earlier runs comes as far.
    const faults = points.map((at) => `${at}@1:delay=1500`).join(',');
    const worker = world.startWorker({ HALO_FAILPOINT: faults });
    for (const at of points) {
      const { runId, repository } = await submit([{ id: 'A' }, { id: 'B' }], settings);
      await worker.says(`failpoint ${at}: delay`);
      cancelled.push(await cancelRun(world, runId, repository));
    }
    await annotate(`cancelled at ${points.join(', ')}`);
    await finish(worker);
  });

  async function finish(worker: ReturnType<World['startWorker']>): Promise<void> {
    const times = cancelled.map(({ stoppedMs }) => stoppedMs);
    // A busy machine is slower than what is promised.
    if (LEVEL >= ALL) expect(percentile(times, 0.95), `p95 of ${JSON.stringify(times)} ms`).toBeLessThan(PROMISED_MS);
    await stopWorker(worker);
    await tidyUp(world);
    for (const run of cancelled) await expectCancelled(world, run);
    await checkInvariants(
      world,
      cancelled.map(({ runId, repository, branch }) => {
        const landed = branch === '' ? [] : ['A'];
        return { runId, repository, main: 'unchanged' as const, landed, stopReason: 'USER_ABORT' };
      }),
    );
  }
});
