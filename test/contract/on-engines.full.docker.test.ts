import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMachines, type Machines, type NoMachines } from '../support/engines/machines.ts';

const ROOT = resolve(import.meta.dirname, '../..');

let opened: Machines<'build-1' | 'build-2'> | NoMachines;
beforeAll(async () => void (opened = await openMachines(['build-1', 'build-2'])));
afterAll(async () => {
  if ('machines' in opened) await opened.close();
});

it.for([
  ['build-1', ['hanuman', 'lever']],
  ['build-2', ['daedalus', 'swanson', 'hank']],
] as const)(
  'the contracts are fulfilled on an engine of another machine, %s: %j',
  async ([name, contracts], { skip }) => {
    if ('missing' in opened) return skip(opened.missing);
    const inherited = Object.entries(process.env).filter(([key]) => !/^(?:VITEST|HALO_TEST_LIGHT)/.test(key));
    const env = { ...Object.fromEntries(inherited), ...opened.machines[name].env, HALO_TEST_ENGINE: 'docker' };
    const folders = contracts.map((contract) => `test/contract/${contract}/`);
    const words = ['run', '--project', 'flow', '--reporter', 'dot', ...folders];
    const child = spawn('node_modules/.bin/vitest', words, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += String(chunk)));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code, printed.slice(-5_000)).toBe(0);
  },
);
