import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { prdOf } from '../../support/halo/halo.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { FakeRuns } from './fake-runs.ts';

let home: string;
let cwd: string;
let runs: FakeRuns;

beforeEach(() => {
  home = tempDir('halo-home');
  cwd = newRepository().root;
  mkdirSync(join(cwd, 'prds'));
  for (const name of ['1.json', '2.json']) put(name, name);
  runs = new FakeRuns();
});

/** A PRD that was written long ago: the queue waits for the end of one that may still be written. */
function put(name: string, title?: string) {
  const path = join(cwd, 'prds', name);
  writeFileSync(path, prdOf([{ id: 'S-1', ...(title !== undefined && { title }) }]).bytes);
  utimesSync(path, 0, 0);
}

function queue(words: string[]) {
  const operations = { ...openMemory(), ...runs.operations };
  const services = { readHost: () => Promise.resolve(hostOf(home)) };
  return runCli(['queue', ...words], { operations, services, cwd });
}

describe('halo queue', () => {
  it('ends with 0 when nothing is left to do, and with 10 after a PRD that failed', async () => {
    expect(await queue(['prds'])).toMatchObject({ code: 0, stdout: '' });
    expect(await queue(['prds'])).toMatchObject({ code: 0, stdout: '' });
    runs.outcomes.set('3.json', 'GATE_FAILED');
    put('3.json');
    expect(await queue(['prds', '--json'])).toMatchObject({ code: 10, stdout: '{"done":0,"failed":1}\n' });
  });

  it('passes on repository and settings', async () => {
    const other = newRepository().root;
    await queue(['prds', '--repo', other, '--agent', 'claude', '-c', 'a=1', '--allow-dirty']);
    expect(runs.submitted[0]).toMatchObject({ repos: [other], set: ['a=1', 'agent=claude'], allowDirty: true });
  });

  it('stops at a PRD that failed, or continues with --on-failure skip', async () => {
    runs.outcomes.set('1.json', 'GATE_FAILED');
    expect((await queue(['prds', '--json'])).stdout).toBe('{"done":0,"failed":1}\n');
    expect((await queue(['prds', '--json', '--on-failure', 'skip'])).stdout).toBe('{"done":1,"failed":0}\n');
    expect((await queue(['prds', '--on-failure', 'retry'])).code).toBe(2);
    expect((await queue([])).code).toBe(2);
  });

  it('prints progress on stderr, without control characters', async () => {
    put('3\u001b[31m.json');
    const { stderr } = await queue(['prds']);
    expect(stderr).toContain('3<U+001B>[31m.json is not taken');
    expect(stderr).toContain('2 done, 0 failed\n');
  });

  it('lists the PRDs with --list, in order, and runs nothing', async () => {
    symlinkSync('1.json', join(cwd, 'prds/3\u001b.json'));
    const { stdout } = await queue(['prds', '--list']);
    expect(stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 4))).toEqual([
      ['NAME', 'STATE', 'DONE', 'RUN'],
      ['1.json', 'waiting', '0/1', '-'],
      ['2.json', 'waiting', '0/1', '-'],
      ['3<U+001B>.json', 'refused', '-', '-'],
      [''],
    ]);
    expect(JSON.parse((await queue(['prds', '--list', '--json'])).stdout)).toHaveLength(3);
    expect(runs.submitted).toEqual([]);
  });
});
