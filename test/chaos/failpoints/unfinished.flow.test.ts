import { mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { prdOf } from '../../support/halo/halo.ts';
import { openWorld, stopWorker, type World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

const TRIES = 20;

it('hazard 1: an incomplete run of a killed submit is invisible, and removed', async () => {
  const world = openWorld();
  try {
    const runs = join(world.home.dir, 'runs');
    mkdirSync(runs);
    const unfinished = () => readdirSync(runs).filter((name) => name.startsWith('.new-'));
    for (let tries = 0; unfinished().length === 0; tries++) {
      expect(tries).toBeLessThan(TRIES);
      await killWhileFilling(world, runs);
    }
    const worker = world.startWorker();
    await vi.waitFor(() => expect(unfinished()).toEqual([]), PATIENCE);
    await stopWorker(worker);
  } finally {
    await world.close();
  }
});

/** A submit that is killed as soon as the folder of its runs appears, unless it is faster. */
async function killWhileFilling(world: World, runs: string): Promise<void> {
  const { root } = world.addRepository();
  const prd = join(root, 'prd.json');
  writeFileSync(prd, prdOf(Array.from({ length: 2000 }, (_, index) => ({ id: `S-${index}` }))).bytes);
  const submit = world.home.start(
    [
      'submit',
      prd,
      '--repo',
      root,
      '--allow-dirty',
      '-c',
      'gates=["true"]',
      '-c',
      'agent=command',
      '-c',
      'agents.command.run=true',
    ],
    { cwd: root },
  );
  const watcher = watch(runs, (_event, name) => {
    if (name?.startsWith('.new-') === true) submit.process.kill('SIGKILL');
  });
  const { code, stderr } = await submit.ended;
  watcher.close();
  expect([null, 0], stderr).toContain(code);
}
