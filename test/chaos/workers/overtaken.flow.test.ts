import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { HaloProcess } from '../../support/halo/halo-process.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { NO_OP, openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

/** What happens to the first worker in the middle of story A, and what makes it continue too late. */
interface Overtaking {
  settings?: string[];
  env: Record<string, string>;
  holdUp: (first: HaloProcess, world: World, runId: string) => Promise<void>;
  letGo?: (first: HaloProcess) => void;
}

describe('hazard 3: a worker is stopped for longer than its lock, and continues', skipFor(belowLevel(FULL)), () => {
  const letGo = (first: HaloProcess) => void first.process.kill('SIGCONT');

  it('a worker is overtaken between the gates and the landing', () =>
    overtake({
      env: { HALO_FAILPOINT: 'objects.before@1:delay=6000' },
      holdUp: async (first) => {
        await first.says('failpoint objects.before');
        first.process.kill('SIGSTOP');
      },
      letGo,
    }));

  it.for([
    ['while its agent works', `agents.command.run=${JSON.stringify(`sleep 3; ${NO_OP}`)}`, '"phase":"agent"'],
    ['while a gate runs', 'gates=["echo a gate; sleep 3"]', '"type":"gate.started"'],
  ] as const)('%s', { timeout: 300_000 }, ([, setting, event]) =>
    overtake({
      settings: [setting],
      env: {},
      holdUp: async (first, world, runId) => {
        const run = join(world.home.dir, 'runs', runId);
        const lock = (held: boolean) => expect(readdirSync(run).includes('.lock')).toBe(held);
        const wait = { ...PATIENCE, interval: 5 };
        await vi.waitFor(() => expect(readFileSync(join(run, 'journal.jsonl'), 'utf8')).toContain(event), wait);
        // Who is stopped while it writes keeps the others from writing.
        await vi.waitFor(() => lock(false), wait);
        first.process.kill('SIGSTOP');
        lock(false);
      },
      letGo,
    }),
  );
});

describe('hazard 4: a worker that is too busy to renew its lock', skipFor(belowLevel(FULL)), () => {
  it('loses its story, writes nothing, and takes stories again afterwards', () =>
    overtake({
      // For longer than the other one needs.
      env: { HALO_FAILPOINT: 'gates.before@1:block=25000' },
      holdUp: (first) => first.says('failpoint gates.before: block'),
    }));
});

/** Another worker does the story while the first one cannot, and then not a byte of the run changes any more. */
async function overtake({ settings = [], env, holdUp, letGo }: Overtaking): Promise<void> {
  const world = openWorld();
  let first: HaloProcess | undefined;
  try {
    const repository = world.addRepository();
    const runId = await world.submit(repository, [{ id: 'A' }], settings);
    // What was taken from it still counts as one of its stories for a while.
    first = world.startWorker(env, { concurrency: 2 });
    await holdUp(first, world, runId);
    const second = world.startWorker();
    await world.untilEnded(runId);
    await stopWorker(second);
    const written = filesBelow(join(world.home.dir, 'runs', runId));
    letGo?.(first);
    const next = await world.submit(repository, [{ id: 'C' }]);
    await world.untilEnded(next);
    await stopWorker(first);
    // It hears that the job is no longer its own when it renews its lock or when it ends, whichever comes first.
    expect(first.stderr()).toMatch(/could not renew lock|Missing lock for job/);
    expect(filesBelow(join(world.home.dir, 'runs', runId))).toEqual(written);
    expect(world.journal(runId).filter(({ type }) => type === 'story.started')).toHaveLength(2);
    await tidyUp(world);
    await checkInvariants(world, [
      { runId, repository, main: 'unchanged', landed: ['A'] },
      { runId: next, repository, main: 'unchanged', landed: ['C'] },
    ]);
  } finally {
    // A stopped process would not receive the signal to end.
    first?.process.kill('SIGCONT');
    await world.close();
  }
}

/** Every file with what is in it. */
function filesBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')]));
}
