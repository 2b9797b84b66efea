import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

type Prepare = (repository: TestRepository) => void;

/** What a user may be doing when a run is submitted, or during the run. */
const BEFORE: Record<string, Prepare> = {
  'dirty and staged': (mine) => {
    mine.write('staged.txt', 'mine');
    mine.git('add', 'staged.txt');
    mine.write('README.md', 'changed');
    mine.write('untracked.txt', 'mine');
  },
  'in the middle of a rebase': (mine) => {
    mine.git('switch', '-q', '-c', 'topic');
    mine.write('README.md', 'topic');
    mine.commit('topic');
    mine.git('switch', '-q', 'main');
    mine.write('README.md', 'main');
    mine.commit('main');
    mine.git('switch', '-q', 'topic');
    const identity = ['-c', 'user.name=Tess', '-c', 'user.email=tess@example.com'];
    expect(() => mine.git(...identity, 'rebase', '-q', 'main')).toThrow('could not apply');
  },
  detached: (mine) => void mine.git('switch', '-q', '--detach'),
};
const MEANWHILE: Record<string, Prepare> = {
  'locked by another git': ({ root }) => writeFileSync(join(root, '.git/index.lock'), ''),
  'on a branch that moved': (mine) => {
    mine.write('own.txt', 'mine');
    mine.commit('own work');
  },
};

/** All that is the user's: where HEAD and branches are, and the bytes of index and files. */
function look({ root, ...repository }: TestRepository): unknown {
  const bytes = (path: string) => existsSync(join(root, path)) && readFileSync(join(root, path)).toString('base64');
  const files = ['.git/index', '.git/index.lock', 'README.md', 'staged.txt', 'untracked.txt', 'own.txt', 'story.txt'];
  return [
    readFileSync(join(root, '.git/HEAD'), 'utf8'),
    repository.git('for-each-ref', 'refs/heads/main', 'refs/heads/topic'),
    files.map((path) => [path, bytes(path)]),
    existsSync(join(root, '.git/rebase-merge')),
  ];
}

it(
  'hazards 26, 27: a checkout that the user works in stays unchanged when runs land',
  { timeout: 180_000 },
  async ({ halo }) => {
    const prepared = [...Object.values(BEFORE), ...Object.values(MEANWHILE)].map((prepare) => {
      return { repository: newRepository(), prepare };
    });
    const repositories = prepared.map(({ repository }) => repository);
    const early = prepared.slice(0, Object.keys(BEFORE).length);
    for (const { repository, prepare } of early) prepare(repository);
    const submitted = (
      await halo.operations.submit({
        prd: prdOf([{ id: 'A' }]),
        repos: repositories.map(({ root }) => root),
        profile: undefined,
        set: scripted(`echo x > story.txt; ${OK}`, ['true'], ['land.mode="ff"']),
        allowDirty: true,
      })
    ).runs;
    for (const { repository, prepare } of prepared.slice(early.length)) prepare(repository);
    const seen = repositories.map(look);
    for (const [index, { runId }] of submitted.entries()) {
      const repository = repositories[index]!;
      expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
      expect(repository.git('show', `halo/${runId}:story.txt`)).toBe('x');
      await expect(halo.operations.land({ runId })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
      expect(look(repository), Object.keys({ ...BEFORE, ...MEANWHILE })[index]).toEqual(seen[index]);
    }
  },
);
