import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { sleep } from '../../../src/lib/async.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, FULL, LEVEL } from '../../support/suite/level.ts';
import { canCutPower } from './power-disk.ts';
import { openPowerWorld, type PowerWorld } from './power-world.ts';
import { openRandom } from '../../support/faults/random.ts';
import { stopWorker, tidyUp } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

/** Chained, because what the first cut left is what the second one finds. */
const CHAINS: Failpoint[][] = [
  ['objects.after', 'ref.after', 'story.ended.after'],
  ['story.started.after', 'import.after', 'proof.after', 'ref.before', 'note.after', 'job.done'],
  ['run.started.after', 'setup.after', 'agent.after', 'export.after', 'gates.after', 'mirror.after', 'close.after'],
];
const CUTS = LEVEL >= ALL ? 30 : 10;
const SEED = Number(process.env.HALO_CHAOS_SEED ?? (LEVEL < FULL ? 1 : Date.now() % 1_000_000));

describe('hazard 43: the power fails', skipFor(!canCutPower() && 'needs root, loop devices and ext4'), () => {
  let power: PowerWorld;

  beforeEach(() => {
    power = openPowerWorld();
  });
  afterEach(() => power.close());

  const chains = CHAINS.slice(0, LEVEL >= FULL ? CHAINS.length : 1).map((points) => ({
    points,
    at: points.join(', '),
  }));
  it.each(chains)('the power fails at $at', { timeout: 600_000 }, async ({ points }) => {
    const repository = power.addRepository();
    const ids = points.map((_, index) => `S-${index}`);
    const runId = await power.submit(repository, ids);
    for (const at of points) await power.cutPowerAt(at);
    await finish([{ runId, repository, landed: ids }]);
  });

  it.runIf(LEVEL >= FULL)(`${CUTS} times at random (HALO_CHAOS_SEED=${SEED})`, { timeout: 3_600_000 }, async () => {
    const random = openRandom(SEED);
    const repositories = [power.addRepository(), power.addRepository()];
    const runs: Promised[] = [];
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      for (const repository of repositories) {
        // Chance may strike the same story again and again.
        const runId = await power.submit(repository, ['A', 'B'], ['retry.crashes=100']);
        runs.push({ runId, repository, landed: ['A', 'B'] });
      }
      const worker = power.world.startWorker({}, { concurrency: 2 });
      await worker.says('running up to');
      await sleep(1000 + random() * 6000);
      await power.cutPower();
    }
    await finish(runs);
  });

  interface Promised {
    runId: string;
    repository: TestRepository;
    landed: string[];
  }

  async function finish(runs: Promised[]): Promise<void> {
    const { world, shown } = power;
    const worker = world.startWorker({}, { concurrency: 2 });
    for (const { runId } of runs) await world.untilEnded(runId);
    // All that comes later works as ever.
    const [{ runId, repository }] = runs as [Promised];
    repository.git('gc', '--prune=now', '--quiet');
    const again = { runId: await power.submit(repository, ['A']), repository, landed: ['A'] };
    await world.untilEnded(again.runId);
    await stopWorker(worker);
    await tidyUp(world);
    await checkInvariants(
      world,
      [...runs, again].map((run) => ({ ...run, main: 'unchanged' })),
    );
    for (const { runId, repository } of runs) {
      const branch = repository.git('rev-list', `halo/${runId}`).split('\n');
      for (const commit of shown.get(runId) ?? []) expect(branch, `told as landed of ${runId}`).toContain(commit);
    }
    const verified = await world.home.halo(['verify', runId], { cwd: repository.root });
    expect(verified, verified.stderr).toMatchObject({ code: 0 });
  }
});
