import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isEngineDrained, noteDrained } from '../../../src/store/drained-engines.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { tempDir } from '../../support/temp-dir.ts';

const worker = (facts: object = {}) => ({ id: 'any-1', slots: 2, busy: 0, draining: false, ...facts });
type Worker = ReturnType<typeof worker>;

it.each<[state: string, joined: boolean, workers: Worker[]]>([
  ['takes stories', true, [worker()]],
  ['takes stories', true, [worker({ away: true }), worker()]],
  ['not ready: halo engine check build-2', true, [worker({ away: true })]],
  ['drained', true, [worker({ draining: true })]],
  ['no worker', true, []],
  ['has not joined', false, [worker({ away: true })]],
  ['has not joined, drained', false, [worker({ draining: true })]],
])('halo engine ls says of an engine: %s', async (state, joined, workers) => {
  const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined, workers };
  const operations = { ...openMemory(), listEngines: () => Promise.resolve({ engines: [engine] }) };
  const { stdout } = await runCli(['engine', 'ls'], { operations });
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`all {2,}${state}$`));
});

it.each([
  [true, 'Wait until it is drained'],
  [false, 'Drain it first with `halo engine drain build-2`'],
])('halo engine rm of an engine that runs a story, and drains: %s, says: %s', async (draining, hint) => {
  const workers = [worker({ draining, busy: 1 })];
  const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined: true, workers };
  const operations = { ...openMemory(), listEngines: () => Promise.resolve({ engines: [engine] }) };
  const services = { readHost: () => Promise.resolve(hostOf(tempDir())) };
  expect((await runCli(['engine', 'rm', 'build-2'], { operations, services })).stderr).toContain(hint);
});

it.each([
  [10, /takes stories, certificate until \d{4}-\d\d-\d\d: halo engine rekey build-2$/],
  [100, /takes stories$/],
])('halo engine ls warns of a certificate that ends in %i days only if that is soon', async (days, state) => {
  const certificateEnds = new Date(Date.now() + days * 86_400_000).toISOString();
  const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined: true, certificateEnds, workers: [worker()] }; // prettier-ignore
  const operations = { ...openMemory(), listEngines: () => Promise.resolve({ engines: [engine] }) };
  expect((await runCli(['engine', 'ls'], { operations })).stdout.trimEnd()).toMatch(state);
});

it('a drained engine without a worker is shown as drained', async () => {
  const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined: true, drained: true as const, workers: [] }; // prettier-ignore
  const operations = { ...openMemory(), listEngines: () => Promise.resolve({ engines: [engine] }) };
  expect((await runCli(['engine', 'ls'], { operations })).stdout).toMatch(/all {2,}no worker, drained\n$/);
});

it.each([
  ['drain', true, 'drained'],
  ['resume', false, 'resumed'],
])('halo engine %s is for all workers of the engine, and for those that start later', async (order, drained, says) => {
  const home = tempDir();
  writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "build-2"\naddress = "tcp://build-2:2376"\n');
  await noteDrained(home, 'build-2', !drained);
  const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined: true };
  const ordered: string[] = [];
  const answer = ({ workerId }: { workerId: string }) => {
    ordered.push(workerId);
    return Promise.resolve({ id: workerId, busy: 0 } as never);
  };
  const run = async (workers: Worker[]) => {
    const operations = {
      ...openMemory(),
      listEngines: () => Promise.resolve({ engines: [{ ...engine, workers }] }),
      ...{ drainWorker: answer, resumeWorker: answer },
    };
    const services = { readHost: () => Promise.resolve(hostOf(home)) };
    return runCli(['engine', order, 'build-2'], { operations, services });
  };
  const { code, stdout } = await run([worker({ id: 'any-1' }), worker({ id: 'any-2' })]);
  expect([code, stdout]).toEqual([0, `${says}  build-2  any-1\n${says}  build-2  any-2\n`]);
  expect([ordered, await isEngineDrained(home, 'build-2')]).toEqual([['any-1', 'any-2'], drained]);
  await noteDrained(home, 'build-2', !drained);
  expect(await run([])).toMatchObject({ code: 0, stdout: `${says}  build-2\n` });
  expect(await isEngineDrained(home, 'build-2')).toBe(drained);
});
