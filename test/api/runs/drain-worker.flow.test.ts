import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkerView } from '../../../src/api/operations/schemas.ts';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { registerWorker } from '../../../src/store/process-registry.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { startTakingWorker, type TakingWorker } from '../../support/halo/taking-worker.ts';
import { created } from '../../support/journal.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { PATIENCE } from '../../support/patience.ts';

const OWNER = 'the-token-of-the-server';
const RUN = 'abcdefgh01';

let home: ScriptedHome;
let served: Served;
let owner: Operations;
let worker: TakingWorker;

beforeAll(async () => {
  home = openScriptedHome();
  worker = await startTakingWorker(home.host.home);
  served = await serveApi({
    operations: home.operations,
    listen: '127.0.0.1:0',
    host: { ...home.host, apiToken: OWNER },
  });
  owner = openHttp({ url: served.url, token: OWNER });
  await owner.addUser({ name: 'olga', role: 'operator' });
  await owner.addUser({ name: 'vera', role: 'viewer' });
  await owner.addUser({ name: 'sam', role: 'operator', repositories: ['/srv/shop'] });
});
afterAll(async () => {
  await worker.close();
  await served.close();
  await home.remove();
});

const as = async (name: string) => openHttp({ url: served.url, token: (await owner.createToken({ name })).token });
const halo = (...words: string[]) => callHalo(words, { cwd: home.host.home, env: { HALO_HOME: home.host.home } });
const shown = async () => (await owner.listWorkers()).workers.find(({ id }) => id === worker.id);

describe('draining a worker', () => {
  it('is done by an operator, shown to all, and recorded with the name of the operator', async () => {
    const olga = await as('olga');
    await worker.enqueue(RUN);
    await expect.poll(shown, PATIENCE).toMatchObject({ draining: false, slots: 2, busy: 1 });
    expect(await olga.drainWorker({ workerId: worker.id.slice(4, 12) })).toMatchObject({
      id: worker.id,
      draining: true,
    });
    expect(await shown()).toMatchObject({ draining: true, busy: 1 });
    // Repeated, it changes nothing, and is recorded once.
    expect(await olga.drainWorker({ workerId: worker.id })).toMatchObject({ draining: true });
    worker.finish(RUN);
    await worker.enqueue('abcdefgh02');
    await expect.poll(shown, PATIENCE).toMatchObject({ draining: true, busy: 0 });
    expect(worker.taken).toEqual([RUN]);
    expect(await olga.resumeWorker({ workerId: worker.id })).toMatchObject({ id: worker.id, draining: false });
    await expect.poll(() => worker.taken, PATIENCE).toEqual([RUN, 'abcdefgh02']);
    worker.finish('abcdefgh02');
    const events = (await owner.readAccessLog({ limit: 100 })).events.filter(({ type }) => type.startsWith('worker.'));
    expect(events).toMatchObject([
      { type: 'worker.resumed', worker: worker.id, by: 'olga' },
      { type: 'worker.drained', worker: worker.id, by: 'olga' },
    ]);
  });

  it('is denied to people whose role or repositories do not include it', async () => {
    for (const name of ['vera', 'sam']) {
      const person = await as(name);
      await expect(person.drainWorker({ workerId: worker.id })).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
      await expect(person.resumeWorker({ workerId: worker.id })).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
    }
    expect(await shown()).toMatchObject({ draining: false });
  });

  it('is refused for a worker that does not exist, takes only its own run, or is not in the queue', async () => {
    await expect(owner.drainWorker({ workerId: 'any-0000' })).rejects.toMatchObject({
      code: 'USAGE',
      message: 'No worker "any-0000" is running.',
      hint: 'Run `halo worker ls` to list the running workers.',
    });
    const [own, other] = [await registerWorker(home.host.home, 'own'), await registerWorker(home.host.home, 'any')];
    try {
      await expect(owner.drainWorker({ workerId: 'any-' })).rejects.toMatchObject({ code: 'USAGE' });
      await expect(owner.drainWorker({ workerId: own.id })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
      await expect(owner.drainWorker({ workerId: other.id })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    } finally {
      await own.leave();
      await other.leave();
    }
  });

  it('is the reason why stories wait if no other worker is running', async () => {
    const runId = await home.addRun([created('waiting001', 1)]);
    expect(await owner.getRun({ runId })).toMatchObject({ workers: 1 });
    await owner.drainWorker({ workerId: worker.id });
    // A view of a run waits only seconds for Redis.
    await expect.poll(() => owner.getRun({ runId })).toMatchObject({ workers: 0, draining: 1 });
    const waits = 'all workers are draining: resume one with `halo worker resume`, or start another one';
    await expect.poll(async () => (await halo('status')).stderr).toContain(waits);
    await expect.poll(async () => (await halo('status', runId)).stdout).toContain('all workers are draining');
    await owner.resumeWorker({ workerId: worker.id });
    expect((await halo('status')).stderr).not.toContain('draining');
  });
});

describe('halo worker', () => {
  it('lists, drains and resumes workers', async () => {
    const before = await halo('worker', 'ls');
    expect(before.stdout).toMatch(/^WORKER +ENGINE +HOST +PID +STORIES +VERSION +UP +LAST CONTACT +STATE\n/);
    expect(before.stdout).toMatch(new RegExp(`${worker.id} .* 0/2 .* ago +takes stories\n`));
    const drained = await halo('worker', 'drain', worker.id.slice(0, 10));
    expect(drained).toMatchObject({ code: 0, stdout: `drained  ${worker.id}\n` });
    expect((await halo('worker', 'ls')).stdout).toMatch(/ 0\/2 .* drained\n/);
    const [listed] = JSON.parse((await halo('worker', 'ls', '--json')).stdout) as WorkerView[];
    expect(listed).toMatchObject({ id: worker.id, draining: true, slots: 2, busy: 0 });
    // The time of its last contact is another one.
    const again = JSON.parse((await halo('worker', 'drain', worker.id, '--json')).stdout) as WorkerView;
    expect({ ...again, seen: '' }).toEqual({ ...listed, seen: '' });
    const resumed = await halo('worker', 'resume', worker.id);
    expect(resumed).toMatchObject({ code: 0, stdout: `resumed  ${worker.id}\n` });
    const view = JSON.parse((await halo('worker', 'resume', worker.id, '--json')).stdout) as WorkerView;
    expect(view).toMatchObject({ id: worker.id, draining: false });
  });

  it('says which worker is not running, and what to do', async () => {
    const { code, stderr } = await halo('worker', 'drain', 'none');
    expect(code).toBe(2);
    expect(stderr).toContain('No worker "none" is running.');
    expect(stderr).toContain('halo worker ls');
    expect((await halo('worker', 'start')).code).toBe(2);
  });
});
