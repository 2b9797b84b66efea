import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { WorkerView } from '../../../src/api/operations/schemas.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseOn } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { startLightEngine, type LightEngine } from '../../support/light-engine/start.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

/** How long a silent worker keeps its stories. */
const ENV = { HALO_TAKEOVER: '6s' };

let home: HaloHome;
let second: LightEngine;

beforeAll(async () => void (second = await startLightEngine()));
afterAll(() => second.stop());
beforeEach(() => void (home = openHome()));
afterEach(() => home.close());

const hostOf = (engine: string) => (engine === 'b' ? second.host : (process.env.DOCKER_HOST ?? ''));

/** Writes `[[engines]]`, each with one slot. */
function configure(engines: Record<string, string>): void {
  const tables = Object.entries(engines).map(
    ([name, more]) => `[[engines]]\nname = "${name}"\naddress = "${hostOf(name)}"\nslots = 1\n${more}\n`,
  );
  writeFileSync(join(home.dir, 'config.toml'), tables.join(''));
}

async function halo(...words: string[]): Promise<string> {
  const end = await callHalo(words, { cwd: home.dir, env: { HALO_HOME: home.dir, ...ENV } });
  expect(end, end.stderr).toMatchObject({ code: 0 });
  return end.stdout;
}

async function startWorker(engine: string) {
  const worker = home.start(['worker', '--engine', engine], { cwd: home.dir, env: ENV });
  await worker.says(`running up to 1 story in parallel on the engine ${engine}`);
  return worker;
}

/** Submits a run of one story that waits in the sandbox; returns its id. */
async function submit(...settings: string[]): Promise<string> {
  const prd = join(home.dir, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
  const script = `${HOLD}; echo x > x; ${OK}`;
  const words = [...scripted(script), ...settings].flatMap((pair) => ['-c', pair]);
  return (await halo('submit', prd, '--repo', newRepository().root, ...words)).trim();
}

const workers = async () => JSON.parse(await halo('worker', 'ls', '--json')) as WorkerView[];

/** Resolves when the agent of a run works on an engine. */
async function worksOn(runId: string, engine: string): Promise<void> {
  const docker = new Docker({ socketPath: hostOf(engine).replace('unix://', '') });
  const label = [`dev.halo.run=${runId}`, 'dev.halo.phase=agent'];
  await vi.waitFor(
    async () => expect(await docker.listContainers({ filters: { label } })).not.toHaveLength(0),
    PATIENCE,
  );
}

async function finish(runId: string, engine: string): Promise<void> {
  await vi.waitFor(async () => {
    await releaseOn(new Docker({ socketPath: hostOf(engine).replace('unix://', '') }), runId);
    expect(readJournal(home.dir, runId).at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
  }, PATIENCE);
}

it('a story runs on an engine with its label; a drained engine takes none, and one that dies loses its story once', async () => {
  configure({ a: '', b: 'labels = ["gpu"]' });
  await startWorker('a');
  const b = await startWorker('b');
  const labelled = await submit('engine.labels=["gpu"]');
  await worksOn(labelled, 'b');
  expect((await workers()).map(({ engine, slots, busy }) => [engine, slots, busy]).sort()).toEqual([
    ['a', 1, 0],
    ['b', 1, 1],
  ]);
  const [drained] = (await workers()).filter(({ engine }) => engine === 'b');
  await halo('worker', 'drain', drained!.id);
  const waiting = await submit('engine.labels=["gpu"]');
  const other = await submit();
  await worksOn(other, 'a');
  await finish(labelled, 'b');
  expect(await halo('status', waiting)).toContain('resume one with `halo engine resume b`');
  await halo('engine', 'resume', 'b');
  await worksOn(waiting, 'b');
  await finish(waiting, 'b');
  // The engine `a` is full.
  const moving = await submit();
  await worksOn(moving, 'b');
  b.process.kill('SIGKILL');
  await finish(other, 'a');
  await worksOn(moving, 'a');
  await finish(moving, 'a');
  const events = readJournal(home.dir, moving);
  expect(events.filter(({ type }) => type === 'story.ended')).toMatchObject([{ attempt: 1, verdict: 'passed' }]);
  const lost = await submit('engine.labels=["gpu"]');
  expect(await halo('status', lost)).toContain('no worker of the engine b is running: start `halo up`');
});

it('halo up has a worker for each engine of config.toml; the story of one that is removed moves to another', async () => {
  configure({ b: '' });
  const up = home.start(['up', '--workers', '0', '--listen', '127.0.0.1:0'], { cwd: home.dir, env: ENV });
  await up.says('engine b: starting its worker');
  const again = await callHalo(['up', '--listen', '127.0.0.1:0'], {
    cwd: home.dir,
    env: { HALO_HOME: home.dir, ...ENV },
  });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('`halo up` already runs for') as string });
  await vi.waitFor(async () => expect(await workers()).toMatchObject([{ engine: 'b', slots: 1 }]), PATIENCE);
  // Without a label, the engine of the environment counts as well, and has no worker.
  const runId = await submit();
  await worksOn(runId, 'b');
  configure({ a: '' });
  await up.says('engine b: stopping its worker, because config.toml has no such engine any more');
  await up.says('engine a: starting its worker');
  await worksOn(runId, 'a');
  await finish(runId, 'a');
  up.process.kill('SIGTERM');
  expect(await up.ended).toMatchObject({ code: 0 });
  expect(await workers()).toEqual([]);
});

it('a drained engine takes no stories of a new worker either, after the old one was killed, until it is resumed', async () => {
  configure({ b: '' });
  const first = await startWorker('b');
  await halo('engine', 'drain', 'b');
  first.process.kill('SIGKILL');
  await first.ended;
  await startWorker('b');
  await vi.waitFor(async () => expect(await workers()).toMatchObject([{ engine: 'b', draining: true }]), PATIENCE);
  const waiting = await submit();
  expect(await halo('status', waiting)).toContain('resume one with `halo engine resume b`');
  await halo('engine', 'resume', 'b');
  await worksOn(waiting, 'b');
  await finish(waiting, 'b');
});
