import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openEngineProxy, type EngineProxy } from '../../support/docker/engine-proxy.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseOn } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { startLightEngine, type LightEngine } from '../../support/light-engine/start.ts';
import { PATIENCE } from '../../support/patience.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

interface TestEngine {
  light: LightEngine;
  docker: Docker;
  proxy: EngineProxy;
}

const NAMES = ['build-1', 'build-2'] as const;
let engines: Record<(typeof NAMES)[number], TestEngine>;
let home: HaloHome;
let repository: TestRepository;

beforeAll(async () => {
  // They use the images of the machine's engine, not those of the one that tests use.
  vi.stubEnv('DOCKER_HOST', undefined);
  const [first, second] = [await openEngine(), await openEngine()];
  vi.unstubAllEnvs();
  engines = { 'build-1': first, 'build-2': second };
});
afterAll(async () => {
  for (const { proxy, light } of Object.values(engines)) {
    await proxy.close();
    await light.stop();
  }
});

async function openEngine(): Promise<TestEngine> {
  const light = await startLightEngine();
  const socket = light.host.replace('unix://', '');
  return { light, docker: new Docker({ socketPath: socket }), proxy: await openEngineProxy(socket) };
}

beforeEach(() => {
  home = openHome();
  repository = newRepository();
  const tables = NAMES.map(
    (name) => `[[engines]]\nname = "${name}"\naddress = "unix://${engines[name].proxy.socket}"\n`,
  );
  writeFileSync(join(home.dir, 'config.toml'), tables.join('\n'));
});
afterEach(async () => {
  for (const { proxy } of Object.values(engines)) proxy.misbehave(() => undefined);
  // A worker would wait for what the proxy has swallowed.
  await home.kill();
  await home.close();
});

const at = () => ({ cwd: repository.root, env: { HALO_HOME: home.dir, HALO_TAKEOVER: '3s' } });

async function startWorker(engine: string) {
  const worker = home.start(['worker', '--engine', engine], at());
  await worker.says('running up to');
  return worker;
}

/** Submits a run of one story, whose agent waits until it is released. */
async function submit(): Promise<string> {
  const prd = join(repository.root, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
  const script = `${HOLD}; echo x >> story; ${OK}`;
  const settings = scripted(script, ['true'], ['retry.infrastructure.backoff="10ms"']);
  const { stdout, stderr } = await callHalo(['submit', prd, ...settings.flatMap((each) => ['-c', each])], at());
  expect(stderr).not.toContain('error');
  return stdout.trim();
}

/** The engines on which the agent of the run's story has begun, in this order. */
async function begunOn(runId: string, names: string[]): Promise<void> {
  await vi.waitFor(() => {
    const events = readJournal(home.dir, runId);
    expect(events.flatMap((event) => (event.type === 'story.started' ? [event.engine?.name] : []))).toEqual(names);
    expect(events.filter(({ type }) => type === 'agent.launched')).toHaveLength(names.length);
  }, PATIENCE);
}

async function endsOn(engine: (typeof NAMES)[number], runId: string): Promise<void> {
  await vi.waitFor(async () => {
    await releaseOn(engines[engine].docker, runId);
    expect(readJournal(home.dir, runId).at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
  }, PATIENCE);
  const ends = readJournal(home.dir, runId).filter(({ type }) => type === 'story.ended');
  expect(ends).toMatchObject([{ verdict: 'passed', attempt: 1 }]);
  expect(repository.git('log', '--oneline', `main..halo/${runId}`).split('\n')).toHaveLength(1);
  expect(repository.git('show', `halo/${runId}:story`)).toBe('x');
}

async function leftOn(engine: (typeof NAMES)[number]): Promise<number> {
  const { docker } = engines[engine];
  const filters = { label: [`dev.halo.home=${readFileSync(join(home.dir, 'id'), 'utf8').trim()}`] };
  const containers = await docker.listContainers({ all: true, filters });
  const { Volumes } = await docker.listVolumes({ filters: JSON.stringify(filters) });
  return containers.length + Volumes.length;
}

it('hazard 70: a story whose engine is cut off lands once on another one, with the same attempt; the engine is swept when it is back', async () => {
  const worker = await startWorker('build-1');
  const runId = await submit();
  await begunOn(runId, ['build-1']);
  await startWorker('build-2');
  engines['build-1'].proxy.misbehave(() => 'swallow');
  await begunOn(runId, ['build-1', 'build-2']);
  expect(worker.stderr()).toContain('the engine does not answer');
  expect(readJournal(home.dir, runId)).toContainEqual(
    expect.objectContaining({
      type: 'story.disturbed',
      class: 'infrastructure',
      summary: expect.stringContaining('The engine build-1 has not answered for 3 s.') as string,
    }),
  );
  await endsOn('build-2', runId);
  expect(await leftOn('build-1')).toBeGreaterThan(0);
  engines['build-1'].proxy.misbehave(() => undefined);
  await worker.says('the engine can run stories again');
  await vi.waitFor(async () => expect([await leftOn('build-1'), await leftOn('build-2')]).toEqual([0, 0]), PATIENCE);
});

it('hazard 71: a worker whose engine does not answer takes no story, and uses up no attempt and no retry', async () => {
  engines['build-1'].proxy.misbehave(() => ({ status: 503 }));
  const worker = await startWorker('build-1');
  await worker.says('the engine does not answer');
  const runId = await submit();
  await startWorker('build-2');
  await begunOn(runId, ['build-2']);
  await endsOn('build-2', runId);
  expect(readJournal(home.dir, runId).filter(({ type }) => type === 'story.disturbed')).toEqual([]);
});

it('hazard 72: when another machine takes over the name of an engine, its stories start again there', async () => {
  const worker = await startWorker('build-1');
  const runId = await submit();
  await begunOn(runId, ['build-1']);
  const rename = (body: string) => JSON.stringify({ ...(JSON.parse(body) as object), ID: 'another' });
  engines['build-1'].proxy.misbehave((call) => (call.endsWith('/info') ? { rewrite: rename } : undefined));
  await worker.says('another machine has the name of this engine');
  await begunOn(runId, ['build-1', 'build-1']);
  await endsOn('build-1', runId);
  const started = readJournal(home.dir, runId).filter(({ type }) => type === 'story.started');
  expect(started.at(-1)).toMatchObject({ attempt: 1, engine: { name: 'build-1', id: 'another' } });
});

it('hazard 74: a story that fails because the disk of an engine is full lands on another one, with the same attempt', async () => {
  const full = { status: 500, message: 'write /var/lib/docker/x: no space left on device' };
  engines['build-1'].proxy.misbehave((call) => (call.includes('/volumes/create') ? full : undefined));
  await startWorker('build-1');
  await startWorker('build-2');
  const runId = await submit();
  await endsOn('build-2', runId);
  const started = readJournal(home.dir, runId).flatMap((event) => (event.type === 'story.started' ? [event] : []));
  expect(started.map(({ engine, attempt }) => [engine?.name, attempt])).toEqual([
    ['build-1', 1],
    ['build-2', 1],
  ]);
});

it('a story does not begin on an engine that has joined without the image of halo, and begins when the image is there', async () => {
  const missing = { status: 404, message: 'No such image: halo-sandbox' };
  engines['build-1'].proxy.misbehave((call) => (call.includes('/images/halo-sandbox/json') ? missing : undefined));
  const worker = await startWorker('build-1');
  const runId = await submit();
  await worker.says('The image \\"halo-sandbox\\" is not on the engine build-1.');
  await begunOn(runId, []);
  engines['build-1'].proxy.misbehave(() => undefined);
  await worker.says('the engine can run stories again');
  await endsOn('build-1', runId);
});

it('a story whose image is not on an engine, or is another one there, lands on the engine that has it', async () => {
  const images = (call: string) => call.includes('/images/halo-sandbox/json');
  await startWorker('build-1');
  const runId = await submit();
  await begunOn(runId, ['build-1']);
  // This engine is cut off, and the other one has built an image of its own.
  const other = (body: string) => JSON.stringify({ ...(JSON.parse(body) as object), Config: { Env: ['OTHER=1'] } });
  engines['build-2'].proxy.misbehave((call) => (images(call) ? { rewrite: other } : undefined));
  const worker = await startWorker('build-2');
  engines['build-1'].proxy.misbehave(() => 'swallow');
  await worker.says('is not the one with which the run began');
  engines['build-1'].proxy.misbehave(() => undefined);
  await endsOn('build-1', runId);
});
