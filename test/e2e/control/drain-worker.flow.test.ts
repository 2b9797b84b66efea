import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WorkerView } from '../../../src/api/operations/schemas.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { openWorld, stopWorker, type World } from '../../support/faults/world.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { PATIENCE } from '../../support/patience.ts';

let world: World;
let repository: TestRepository;

beforeEach(() => {
  world = openWorld();
  repository = world.addRepository();
});
afterEach(() => world.close());

const submit = (script: string) => world.submit(repository, [{ id: 'A' }], scripted(script));
const halo = (...words: string[]) => callHalo(words, { cwd: repository.root, env: { HALO_HOME: world.home.dir } });

async function list(): Promise<WorkerView[]> {
  return JSON.parse((await halo('worker', 'ls', '--json')).stdout) as WorkerView[];
}

const untilAgent = (runId: string) =>
  vi.waitFor(() => {
    const types = world.journal(runId).map((event) => (event.type === 'phase.started' ? event.phase : event.type));
    expect(types).toContain('agent');
  }, PATIENCE);

/** The view of a run waits only seconds for Redis, so it may lack the reason at first. */
const untilStatus = (runId: string, text: string) =>
  vi.waitFor(async () => expect((await halo('status', runId)).stdout).toContain(text), PATIENCE);

it('a drained worker lands its story, and others wait until there is another worker or it is resumed', async () => {
  const running = await submit(`${HOLD}; echo x >> x; ${OK}`);
  const old = world.startWorker({}, { concurrency: 2 });
  await untilAgent(running);
  const [{ id = '' } = {}] = await list();
  expect(await halo('worker', 'drain', id)).toMatchObject({ code: 0, stdout: `draining  ${id}  1 story left\n` });
  const waiting = await submit(`echo y >> y; ${OK}`);
  await untilStatus(waiting, 'all workers are draining');
  expect(world.journal(waiting).map(({ type }) => type)).not.toContain('story.started');
  const next = world.startWorker();
  await world.untilEnded(waiting);
  await stopWorker(next);
  await release(running);
  await world.untilEnded(running);
  await vi.waitFor(
    async () => expect(await list()).toMatchObject([{ id, draining: true, busy: 0, slots: 2 }]),
    PATIENCE,
  );
  const third = await submit(`echo z >> z; ${OK}`);
  expect(await halo('worker', 'resume', id)).toMatchObject({ code: 0 });
  await world.untilEnded(third);
  for (const runId of [running, waiting, third])
    expect((await world.operations.getRun({ runId })).state).toMatchObject({ stopReason: 'SUCCESS', epoch: 1 });
  await stopWorker(old);
});
