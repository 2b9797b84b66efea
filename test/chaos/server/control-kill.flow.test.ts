import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { checkInvariants, landedBy } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { CANARY, openWorld, SETTINGS, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

let world: World;

beforeEach(() => (world = openWorld()));
afterEach(() => world.close());

/** Each writes a file of its own, and waits for a person. */
const HELD = scripted(
  `echo x >> "$(grep -oE 'Story [A-Z]' | head -n 1 | tr -d ' ')"; ${OK}`,
  ['true'],
  ['approval.mode="story"', 'run.on_failure="continue"'],
);

const isSuccess = (event: JournalEvent) => event.type === 'run.ended' && event.stopReason === 'SUCCESS';

describe(
  'hazard 42: an approval of a story after others have landed',
  { ...skipFor(belowLevel(FULL)), timeout: 400_000 },
  () => {
    it.for(['gates.before', 'ref.after', 'story.ended.after'])(
      'is executed once by the next worker when its worker is killed at %s',
      async (at) => {
        const repository = world.addRepository();
        const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], HELD);
        const maker = world.startWorker();
        await world.untilEnded(runId);
        await stopWorker(maker);
        expect(await world.operations.approve({ runId, story: 'A' })).toMatchObject({ landed: true });
        expect(await world.operations.approve({ runId, story: 'B' })).toMatchObject({ landed: false });
        expect(await world.operations.approve({ runId, story: 'B' })).toMatchObject({ landed: false });
        const killed = world.startWorker({ HALO_FAILPOINT: `${at}@1:kill` });
        await killed.ended;
        await world.expireLocks();
        expect(killed.process.signalCode, killed.stderr()).toBe('SIGKILL');
        const next = world.startWorker();
        await vi.waitFor(() => expect(world.journal(runId).some(isSuccess)).toBe(true), {
          timeout: 120_000,
          interval: 300,
        });
        await stopWorker(next);
        await tidyUp(world);
        const events = world.journal(runId);
        const agents = events.filter((event) => event.type === 'phase.started' && event.phase === 'agent');
        expect(agents, 'agents').toHaveLength(2);
        expect(events.filter(({ type }) => type === 'approval.given')).toHaveLength(1);
        const { state } = await world.operations.getRun({ runId });
        expect(state.stories.map(({ attempts }) => attempts)).toEqual([1, 1]);
        await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
      },
    );

    it('lands once, when the process that lands it is killed as it does', async () => {
      const repository = world.addRepository();
      const runId = await world.submit(repository, [{ id: 'A' }], HELD);
      const worker = world.startWorker();
      await world.untilEnded(runId);
      const halo = (env: Record<string, string>) =>
        world.home.start(['approve', runId, '--story', 'A'], { cwd: repository.root, env });
      const killed = halo({ HALO_FAILPOINT: 'ref.after:kill' });
      await killed.ended;
      expect(killed.process.signalCode, killed.stderr()).toBe('SIGKILL');
      expect(landedBy(repository, runId)).toEqual([`${runId} A`]);
      expect((await halo({}).ended).code).toBe(0);
      await stopWorker(worker);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
    });
  },
);

describe('hazard 42: a halo run that is killed', { ...skipFor(belowLevel(FULL)), timeout: 400_000 }, () => {
  it.for(['enqueue.before', 'export.before', 'ref.before', 'run.ended.before'])(
    'a run whose process is killed at %s is finished by a worker',
    async (at) => {
      const repository = world.addRepository();
      const prd = join(world.tmp, '..', 'prd.json');
      writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
      const settings = [...SETTINGS, 'setup=["true"]'].flatMap((setting) => ['-c', setting]);
      const env = { HALO_FAILPOINT: `${at}:kill`, HALO_TAKEOVER: '4s', TMPDIR: world.tmp, CHAOS_CANARY: CANARY };
      const run = world.home.start(['run', prd, ...settings], { cwd: repository.root, env });
      await run.ended;
      expect(run.process.signalCode, run.stderr()).toBe('SIGKILL');
      const [state] = (await world.operations.listRuns()).runs;
      const runId = state?.runId ?? '';
      const worker = world.startWorker();
      await world.untilEnded(runId);
      await stopWorker(worker);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
    },
  );
});
