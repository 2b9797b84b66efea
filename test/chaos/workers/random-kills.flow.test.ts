import { expect, it } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { sleep } from '../../../src/lib/async.ts';
import { prdOf } from '../../support/halo/halo.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, FULL, LEVEL } from '../../support/suite/level.ts';
import { openRandom } from '../../support/faults/random.ts';
import { killWorker, openWorld, SETTINGS, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';

/** `events`: how many the journals have between two kills, at least; four times as many at most. */
const SIZES = [
  { runs: 8, repos: 4, events: 10 },
  { runs: 40, repos: 10, events: 30 },
  { runs: 200, repos: 20, events: 30 },
];
const size = SIZES[LEVEL >= ALL ? 2 : LEVEL >= FULL ? 1 : 0]!;
const RUNS = Number(process.env.HALO_CHAOS_RUNS ?? size.runs);
const REPOS = Number(process.env.HALO_CHAOS_REPOS ?? size.repos);
const SEED = Number(process.env.HALO_CHAOS_SEED ?? (LEVEL < FULL ? 1 : Date.now() % 1_000_000));
const WORKERS = 3;
const POLL_MS = 200;

it(
  `hazard 2: ${RUNS} runs over ${REPOS} repositories with random kills of workers: every story landed exactly once (HALO_CHAOS_SEED=${SEED})`,
  { timeout: 3_600_000 },
  async () => {
    const world = openWorld();
    try {
      const runs = await submitRuns(world);
      const workers = Array.from({ length: WORKERS }, () => world.startWorker({}, { concurrency: 2 }));
      const random = openRandom(SEED);
      const readJournals = () => runs.map(({ runId }) => world.journal(runId));
      let kills = 0;
      let journals = readJournals();
      while (isOpen(journals)) {
        // Events, not seconds: on a slow machine the workers would be killed before they have done anything.
        const next = journals.flat().length + size.events * (1 + random() * 3);
        while (isOpen(journals) && journals.flat().length < next) {
          await sleep(POLL_MS);
          journals = readJournals();
        }
        await sleep(random() * POLL_MS);
        const victim = Math.floor(random() * WORKERS);
        await killWorker(workers[victim]!);
        kills += 1;
        workers[victim] = world.startWorker({}, { concurrency: 2 });
      }
      await Promise.all(workers.map(stopWorker));
      await tidyUp(world);
      const promised = runs.map(({ runId, repository }) => ({
        runId,
        repository,
        main: 'unchanged' as const,
        landed: ['A'],
      }));
      await checkInvariants(world, promised);
      const starts = runs.flatMap(({ runId }) => world.journal(runId).filter(({ type }) => type === 'story.started'));
      process.stdout.write(
        `seed ${SEED}: ${runs.length} runs over ${REPOS} repositories, ${kills} kills, ${starts.length} starts, every story landed exactly once\n`,
      );
      expect(kills).toBeGreaterThan(0);
    } finally {
      await world.close();
    }
  },
);

async function submitRuns(world: World) {
  const repositories = Array.from({ length: REPOS }, () => world.addRepository());
  const runs = [];
  while (runs.length < RUNS) {
    const some = repositories.slice(0, RUNS - runs.length);
    const submitted = (
      await world.operations.submit({
        prd: prdOf([{ id: 'A' }]),
        repos: some.map(({ root }) => root),
        profile: undefined,
        // Chance may kill the same story again and again.
        set: [...SETTINGS, 'retry.crashes=100'],
        allowDirty: false,
      })
    ).runs;
    runs.push(...submitted.map(({ runId }, index) => ({ runId, repository: some[index]! })));
  }
  return runs;
}

function isOpen(journals: JournalEvent[][]): boolean {
  return journals.some((events) => !events.some(({ type }) => type === 'run.ended'));
}
