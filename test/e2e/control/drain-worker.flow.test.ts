import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WorkerView } from '../../../src/api/operations/requests.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { openWorld, stopWorker, type World } from '../../support/faults/world.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
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

it('a drained worker lands its story, others wait until it is resumed', async () => {
  const running = await submit(`sleep 5; echo x >> x; ${OK}`);
  const worker = world.startWorker({}, { concurrency: 2 });
  await untilAgent(running);
  const [{ id = '' } = {}] = await list();
  expect(await halo('worker', 'drain', id)).toMatchObject({ code: 0, stdout: `draining  ${id}  1 story left\n` });
  const waiting = await submit(`echo y >> y; ${OK}`);
  await world.untilEnded(running);
  expect((await world.operations.get(running)).state).toMatchObject({ stopReason: 'SUCCESS', epoch: 1 });
  await vi.waitFor(
    async () => expect(await list()).toMatchObject([{ id, draining: true, busy: 0, slots: 2 }]),
    PATIENCE,
  );
  expect(world.journal(waiting).map(({ type }) => type)).not.toContain('story.started');
  await untilStatus(waiting, 'all workers are draining');
  expect(await halo('worker', 'resume', id)).toMatchObject({ code: 0 });
  await world.untilEnded(waiting);
  expect((await world.operations.get(waiting)).state).toMatchObject({ stopReason: 'SUCCESS' });
  await stopWorker(worker);
});

it('another worker takes the stories while one drains', async () => {
  const running = await submit(`sleep 15; echo x >> x; ${OK}`);
  const old = world.startWorker({}, { concurrency: 2 });
  await untilAgent(running);
  const [{ id = '' } = {}] = await list();
  expect(await halo('worker', 'drain', id)).toMatchObject({ code: 0 });
  const other = await submit(`echo y >> y; ${OK}`);
  await untilStatus(other, 'all workers are draining');
  expect(world.journal(other).map(({ type }) => type)).not.toContain('story.started');
  const next = world.startWorker();
  for (const runId of [other, running]) await world.untilEnded(runId);
  for (const runId of [other, running])
    expect((await world.operations.get(runId)).state).toMatchObject({ stopReason: 'SUCCESS', epoch: 1 });
  await stopWorker(old);
  await stopWorker(next);
});
