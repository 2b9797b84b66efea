import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunView } from '../../../src/api/operations/runs.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { completedJobs } from '../../support/faults/completed-jobs.ts';
import { belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import type { HaloProcess } from '../../support/halo/halo-process.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

/** Longest that a worker takes to go after the first signal: service managers kill after a minute. */
const DEADLINE_MS = 50_000;
const DEPLOYMENTS = LEVEL < FULL ? 2 : 5;

let world: World;
let repository: TestRepository;

beforeEach(() => {
  world = openWorld();
  repository = world.addRepository();
});
afterEach(() => world.close());

const submit = (script: string) => world.submit(repository, [{ id: 'A' }], scripted(script));

const untilAgent = (runId: string, nth: number) =>
  vi.waitFor(() => {
    const agents = world.journal(runId).filter((event) => event.type === 'phase.started' && event.phase === 'agent');
    expect(agents.length).toBe(nth);
  }, PATIENCE);

async function drain({ process, ended }: HaloProcess): Promise<number | null> {
  const asked = Date.now();
  process.kill('SIGTERM');
  const { code } = await ended;
  expect(Date.now() - asked).toBeLessThan(DEADLINE_MS);
  return code;
}

const isOfStory = ({ ordinal }: { ordinal: number }) => ordinal === 0;

describe('hazard 23: SIGTERM, twice, and many deployments', { timeout: 400_000 }, () => {
  it('the first signal returns the story without using up an attempt, for each deployment, and it lands in the end', async () => {
    const runId = await submit(`${HOLD}; echo x >> x; ${OK}`);
    for (let nth = 1; nth <= DEPLOYMENTS; nth += 1) {
      const deployed = world.startWorker();
      await untilAgent(runId, nth);
      expect(await drain(deployed)).toBe(0);
      expect(world.journal(runId).filter(({ type }) => type === 'story.returned')).toHaveLength(nth);
    }
    const last = world.startWorker();
    await untilAgent(runId, DEPLOYMENTS + 1);
    await release(runId);
    await world.untilEnded(runId);
    const { state } = await world.operations.getRun({ runId });
    const epoch = DEPLOYMENTS + 1;
    expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch, stories: [{ attempts: 1, starts: 0 }] });
    // The job is done a moment after its run has ended. A reconciler that looks in between queues the end of the run.
    await vi.waitFor(async () => {
      const done = await completedJobs(world);
      const [ofStory, others] = [done.filter(isOfStory), done.filter((job) => !isOfStory(job))];
      expect(ofStory).toEqual([{ ordinal: 0, stalled: 0 }]);
      expect([[], [{ ordinal: 1, stalled: 0 }]]).toContainEqual(others);
    }, PATIENCE);
    await stopWorker(last);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
  });

  it('the second signal ends a hung worker immediately, and status reports a run without a worker', async () => {
    const runId = await submit(`sleep 60; ${OK}`);
    const stopped = world.startWorker({ HALO_FAILPOINT: 'close.before:hang' });
    await untilAgent(runId, 1);
    stopped.process.kill('SIGTERM');
    await stopped.says('shutting down cleanly');
    stopped.process.kill('SIGTERM');
    expect((await stopped.ended).code).toBe(130);
    const halo = (...words: string[]) => callHalo(words, { cwd: repository.root, env: { HALO_HOME: world.home.dir } });
    const status = await halo('status', runId);
    expect(status.stdout).toContain('start one with `halo worker`');
    expect((await halo('status')).stderr).toContain('no worker is running');
    expect((await halo('land', runId)).stderr).toContain('Start a worker with `halo worker`');
    await halo('pause', runId);
    expect((await halo('status', runId)).stdout).toMatch(/paused by .+: `halo resume/);
    const cancelled = await halo('cancel', runId);
    expect(cancelled).toMatchObject({ code: 0, stdout: `cancelled  ${runId}  Cancelled; no story has passed.\n` });
    const { state } = JSON.parse((await halo('status', runId, '--json')).stdout) as RunView;
    expect(state).toMatchObject({ status: 'ended', stopReason: 'USER_ABORT' });
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: [], stopReason: 'USER_ABORT' }]);
  });

  it('a worker whose cleanup hangs exits in time, and the next one cleans up', skipFor(belowLevel(FULL)), async () => {
    const runId = await submit(`sleep 8; echo x >> x; ${OK}`);
    const hung = world.startWorker({ HALO_FAILPOINT: 'close.before:hang' });
    await untilAgent(runId, 1);
    expect(await drain(hung)).toBe(1);
    const next = world.startWorker();
    await world.untilEnded(runId);
    await stopWorker(next);
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
  });
});
