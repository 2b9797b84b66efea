import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openMachines, type Machine, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseOn } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const NAMES = ['build-1', 'build-2'] as const;
let opened: Machines<(typeof NAMES)[number]> | NoMachines;
let home: HaloHome | undefined;

beforeAll(async () => {
  opened = await openMachines([...NAMES]);
});
afterEach(async () => {
  await home?.close();
});
afterAll(async () => {
  if ('machines' in opened) await opened.close();
});

describe('hazard 70: a story on a machine', () => {
  it.each<[string, (machine: Machine) => Promise<void>]>([
    ['that is switched off', (machine) => machine.powerOff()],
    ['whose engine is killed', (machine) => machine.stop('SIGKILL')],
    ['whose engine is stopped', (machine) => machine.stop('SIGTERM')],
  ])('%s lands once on another one, and nothing is left on both', async (_what, lose) => {
    if ('missing' in opened) return expect.fail(opened.missing);
    const { 'build-1': first, 'build-2': second } = opened.machines;
    home = openHome();
    const { dir } = home;
    const repository = newRepository();
    const tables = [first, second].map(({ name, address, certificates }) =>
      [
        '[[engines]]',
        `name = "${name}"`,
        `address = "${address}"`,
        ...['ca', 'cert', 'key'].map((file) => `${file} = "${certificates}/${file}.pem"`),
      ].join('\n'),
    );
    writeFileSync(join(dir, 'config.toml'), tables.join('\n\n'));
    const prd = join(repository.root, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
    const at = { cwd: repository.root, env: { HALO_TAKEOVER: '3s' } };
    const startWorker = async (engine: string) => {
      const worker = home!.start(['worker', '--engine', engine], at);
      await worker.says('running up to');
      return worker;
    };
    const worker = await startWorker('build-1');
    const settings = scripted(`${HOLD}; echo x >> story; ${OK}`, ['true'], ['retry.infrastructure.backoff="2s"']);
    const submitted = await home.halo(['submit', prd, ...settings.flatMap((each) => ['-c', each])], at);
    const runId = submitted.stdout.trim();
    const journal = () => readJournal(dir, runId);
    const launched = (count: number) =>
      vi.waitFor(() => expect(journal().filter(({ type }) => type === 'agent.launched')).toHaveLength(count), PATIENCE);
    await launched(1);
    await startWorker('build-2');
    await lose(first);
    await launched(2);
    const started = journal().flatMap((event) => (event.type === 'story.started' ? [event] : []));
    expect(started.map(({ engine, attempt }) => [engine?.name, attempt])).toEqual([['build-1', 1], ['build-2', 1]]); // prettier-ignore
    await vi.waitFor(async () => {
      await releaseOn(second.docker, runId);
      expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
    }, PATIENCE);
    expect(repository.git('show', `halo/${runId}:story`)).toBe('x');
    await first.start();
    await worker.says('the engine can run stories again');
    const label = `dev.halo.home=${readFileSync(join(dir, 'id'), 'utf8').trim()}`;
    await vi.waitFor(async () => {
      for (const { docker } of [first, second]) {
        const { Volumes } = await docker.listVolumes({ filters: JSON.stringify({ label: [label] }) });
        const containers = await docker.listContainers({ all: true, filters: { label: [label] } });
        expect([containers, Volumes ?? []]).toEqual([[], []]);
      }
    }, PATIENCE);
  });
});
