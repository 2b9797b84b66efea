import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { openMachines, type Machine, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { OK, prdOf, remotelyScripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { freePort } from '../../support/network/free-port.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

const CWD = import.meta.dirname;
const TOKEN = 'a'.repeat(32);
const NAMES = ['build-1', 'build-2', 'build-3'] as const;
type Name = (typeof NAMES)[number];

let home: HaloHome;
let opened: Machines<Name> | NoMachines;
let operations: Operations;

beforeAll(async () => {
  home = openHome();
  opened = await openMachines(NAMES, { tls: false });
});
afterAll(async () => {
  await home.close();
  if ('machines' in opened) await opened.close();
});

const engine = (...words: string[]) => home.halo(['engine', ...words], { cwd: CWD });

async function restart(machine: Machine): Promise<void> {
  await machine.stop('SIGTERM');
  await machine.start();
}

/** Submits a story for each repository, and returns the engines that ran them. */
async function runStories(count: number): Promise<string[]> {
  const repos = Array.from({ length: count }, () => newRepository({ 'a.txt': 'a\n' }));
  const settings = remotelyScripted(`sleep 2; cat a.txt > b.txt; ${OK}`, ['grep -q a b.txt']);
  const request = { profile: undefined, set: settings, allowDirty: false };
  const { runs } = await operations.submit({ ...request, prd: prdOf([{ id: 'A' }]), repos: repos.map(({ root }) => root) }); // prettier-ignore
  for (const { runId } of runs)
    await expect
      .poll(async () => (await operations.getRun({ runId })).state.stopReason, { timeout: 280_000, interval: 500 })
      .toBe('SUCCESS');
  return runs.map(({ runId }) => {
    const journal = readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
    return /"engine":"?(?:\{"name":")?([\w-]+)/.exec(journal)?.[1] ?? '';
  });
}

it('from nothing to three engines, whose keys are replaced between stories', async ({ skip }) => {
  if ('missing' in opened) return skip(opened.missing);
  const { machines } = opened;
  const all = NAMES.map((name) => machines[name]);
  const port = await freePort();
  const up = home.start(['up', '--workers', '0', '--listen', `0.0.0.0:${port}`], {
    cwd: CWD,
    env: { HALO_TOKEN: TOKEN },
  });
  await up.says('api ');
  operations = openHttp({ url: `http://127.0.0.1:${port}`, token: TOKEN });
  for (const machine of all) {
    const words = [
      'add',
      machine.name,
      '--address',
      machine.address,
      '--server',
      `http://${machine.hostAddress}:${port}`,
    ];
    const { stdout } = await engine(...words, '--slots', '1');
    await machine.run(`cd /tmp && ${stdout.trim()}`);
    await restart(machine);
  }
  const taking = async () =>
    (await operations.listEngines({})).engines.filter(({ joined, workers }) => joined && workers.length > 0).length;
  await expect.poll(taking, PATIENCE).toBe(3);
  expect((await runStories(3)).sort()).toEqual([...NAMES]);

  const before = all.map(({ etc }) => readFileSync(join(etc, 'halo/cert.pem'), 'utf8'));
  const rekeying = home.start(['engine', 'rekey'], { cwd: CWD });
  for (const [index, machine] of all.entries()) {
    await expect.poll(() => readFileSync(join(machine.etc, 'halo/cert.pem'), 'utf8'), PATIENCE).not.toBe(before[index]);
    // With systemd, Docker restarts by itself.
    await restart(machine);
  }
  const rekeyed = await rekeying.ended;
  expect(rekeyed).toMatchObject({ code: 0, stdout: NAMES.map((name) => `rekeyed  ${name}\n`).join('') });
  expect(await runStories(1)).toHaveLength(1);
});
