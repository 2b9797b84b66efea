import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { created } from '../../support/journal.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUN = '0tbq4m8k7xw2dhe';
let home: HaloHome;
let folder: string;
let marker: string;

beforeEach(() => {
  home = openHome();
  folder = tempDir('halo-foreign-run');
  marker = join(folder, 'executed');
});
afterEach(() => home.close());

describe('incident foreign-run: a run directory of somebody else', () => {
  it.each([
    ['by its path', () => join(folder, RUN)],
    ['from inside it', () => '.'],
    ['by a link to it', () => join(folder, 'latest')],
    ['by a path through the home', () => join(home.dir, '..', folder.split('/').at(-1) ?? '', RUN)],
  ])('is not resumed %s, and none of its commands is executed', async (_how, named) => {
    const dir = join(folder, RUN);
    mkdirSync(dir);
    symlinkSync(dir, join(folder, 'latest'));
    const command = `touch ${marker}`;
    const config = { agent: 'command', gates: [command], model: { keyCommand: command }, sandbox: { runtime: 'runc' } };
    writeFileSync(join(dir, 'run.json'), JSON.stringify({ runId: RUN, config }));
    const event = { v: 1, seq: 1, at: new Date().toISOString(), ...created(RUN, 1) };
    writeFileSync(join(dir, 'journal.jsonl'), `${JSON.stringify(event)}\n`);
    const before = readdirSync(dir);
    const end = await home.halo(['run', '--resume', named()], { cwd: dir });
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain('is not a run directory below');
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(dir)).toEqual(before);
  });

  it.each([
    ['outside of the repository', (outside: string) => outside],
    ['behind a link out of the repository', () => 'link.json'],
    ['with a null byte', () => 'prd.json\0'],
    ['that is a list', () => ['prd.json']],
  ])('cannot name a PRD %s', async (_what, path) => {
    const repository = newRepository();
    const outside = join(folder, 'secret.json');
    writeFileSync(outside, '{"userStories": [{"id": "S", "title": "secret-5512", "passes": false}]}');
    symlinkSync(outside, join(repository.root, 'link.json'));
    const dir = join(folder, RUN);
    mkdirSync(dir);
    writeFileSync(join(dir, 'run.json'), JSON.stringify({ runId: RUN, prd: { path: path(outside) } }));
    const end = await home.halo(['run', '--resume', dir], { cwd: repository.root });
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain('its run.json names no PRD in');
    expect(end.stderr).not.toContain('secret-5512');
  });

  it.each(['missing', 'a pipe', 'huge', 'damaged'])('ends with an error if its run.json is %s', async (what) => {
    const dir = join(folder, RUN);
    mkdirSync(dir);
    const file = join(dir, 'run.json');
    if (what === 'a pipe') execFileSync('mkfifo', [file]);
    if (what === 'huge') {
      writeFileSync(file, '');
      truncateSync(file, 1024 ** 3);
    }
    if (what === 'damaged') writeFileSync(file, '{'.repeat(100_000));
    const end = await home.halo(['run', '--resume', dir], { cwd: newRepository().root });
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain('is not a run directory below');
  });
});
