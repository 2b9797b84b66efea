import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';

const WAIT = { timeout: 150_000, interval: 200 };

let home: HaloHome;
let repository: TestRepository;
let folder: string;

beforeEach(() => {
  home = openHome();
  repository = makeRepository();
  folder = join(repository.root, 'prds');
  mkdirSync(folder);
});
afterEach(async () => {
  await home.close();
  repository.remove();
});

const done = () => (existsSync(join(folder, 'done')) ? readdirSync(join(folder, 'done')).sort() : []);
const add = (name: string, id: string) => writeFileSync(join(folder, name), prdOf([{ id }]).bytes);

it(
  'a folder of PRDs is run by a worker in the order of names, also after kill -9, and is watched',
  { timeout: 400_000 },
  async () => {
    add('10-b.json', 'TEN');
    add('2-a.json', 'TWO');
    const settings = scripted(`grep -oE 'TWO|TEN|NEW' | head -n 1 >> order.txt; sleep 2; ${OK}`, ['true']).flatMap(
      (pair) => ['-c', pair],
    );
    const at = { cwd: repository.root };
    const worker = home.start(['worker'], at);
    const killed = home.start(['queue', 'prds', ...settings], at);
    await vi.waitFor(() => expect(home.runIds()).toHaveLength(1), WAIT);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const watching = home.start(['queue', 'prds', '--watch', ...settings], at);
    await vi.waitFor(() => expect(done()).toEqual(['10-b.json', '2-a.json']), WAIT);
    add('1-new.json', 'NEW');
    await vi.waitFor(() => expect(done()).toEqual(['1-new.json', '10-b.json', '2-a.json']), WAIT);
    watching.process.kill('SIGINT');
    await watching.ended;
    expect(home.runIds()).toHaveLength(3);
    const tips = repository
      .git('for-each-ref', '--sort=refname', '--format=%(refname:short)', 'refs/heads/halo')
      .split('\n');
    expect(tips).toHaveLength(3);
    expect(repository.git('show', `${tips.at(-1)}:order.txt`)).toBe('TWO\nTEN\nNEW');
    // A PRD is moved only after its stories were marked.
    for (const name of done()) expect(readFileSync(join(folder, 'done', name), 'utf8')).toContain('"passes":true');
    worker.process.kill('SIGTERM');
    await worker.ended;
  },
);
