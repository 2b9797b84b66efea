import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { addEngine } from '../../../src/features/engines/api/add-engine.ts';
import { EngineKeys } from '../../../src/features/engines/store/engine-keys.ts';
import { createKey } from '../../../src/lib/network/certificate-authority.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NAME = 'build-2';

/** Rekeys an engine with two workers, of which a person has drained the second one. Returns which are drained afterwards. */
async function rekey(home: string): Promise<{ code: number; stderr: string; drained: string[]; orders: string[] }> {
  const draining = new Map([['taking', false], ['drained', true]]); // prettier-ignore
  const orders: string[] = [];
  const order = (what: string, to: boolean) => (input: { workerId: string }) => {
    draining.set(input.workerId, to);
    orders.push(`${what} ${input.workerId}`);
    return Promise.resolve({ id: input.workerId, draining: to } as never);
  };
  const workers = () => [...draining].map(([id, drains]) => ({ id, slots: 1, busy: 0, draining: drains }));
  const operations = {
    ...openMemory(),
    listEngines: () => Promise.resolve({ engines: [{ name: NAME, address: '', slots: 1, labels: [], joined: true, workers: workers() }] }), // prettier-ignore
    drainWorker: order('drain', true),
    resumeWorker: order('resume', false),
  };
  const readHost = () => Promise.resolve(hostOf(home));
  const { code, stderr } = await runCli(['engine', 'rekey', NAME], { operations, services: { readHost } });
  return { code, stderr, orders, drained: [...draining].flatMap(([id, drains]) => (drains ? [id] : [])) };
}

it('an engine takes stories again after a renewal that failed, except on workers that were drained before', async () => {
  const home = tempDir();
  await addEngine(home, { name: NAME, address: 'tcp://127.0.0.1:1' });
  const { code, stderr, drained, orders } = await rekey(home);
  expect(stderr).toContain('The engine build-2 cannot be reached');
  expect(code).not.toBe(0);
  expect(orders).toEqual(['drain taking', 'resume taking']);
  expect(drained).toEqual(['drained']);
});

it('workers that know only the replaced key take no stories until they start again', async () => {
  const home = tempDir();
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  await addEngine(home, { name: NAME, address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const keys = new EngineKeys(home);
  await keys.renewAuthority();
  const { publicKey, key } = createKey();
  const { cert, ca } = await keys.certify(NAME, publicKey, '127.0.0.1');
  server.setSecureContext({ key, cert, ca });
  const { code, drained } = await rekey(home);
  expect(code).toBe(0);
  expect(await keys.isCurrent(NAME)).toBe(true);
  expect(drained).toEqual(['taking', 'drained']);
});
