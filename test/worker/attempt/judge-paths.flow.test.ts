import { symlinkSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { ProtectedPath } from '../../../src/core/journal/run-created.ts';
import { toFileChange } from '../../../src/git/import/import-tree.ts';
import { diffTrees } from '../../../src/git/objects/trees.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { judgePaths, type JudgedPaths } from '../../../src/worker/attempt/phases/approval.ts';
import { it } from '../../support/fixtures.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const prdWith = (...stories: object[]) => JSON.stringify({ project: 'shop', userStories: stories }, undefined, 2);
const A = { id: 'A', title: 'Story A', passes: false };
const B = { id: 'B', title: 'Story B', passes: false };

interface Rules {
  protect?: string[];
  guarded?: ProtectedPath[];
}

/** Judges the change of story A, on a commit with `prd.json` and these files. */
async function judge(
  repository: TestRepository,
  change: (repository: TestRepository) => void,
  { protect = [], guarded = [] }: Rules = {},
): Promise<JudgedPaths> {
  repository.write('prd.json', prdWith(A, B));
  repository.write('src/a.ts', 'a');
  repository.write('.github/workflows/ci.yml', 'on: push');
  repository.write('.known/file', 'x');
  symlinkSync('build', `${repository.root}/.circleci`);
  const parent = repository.commit('base');
  change(repository);
  const commit = repository.commit('change');
  const candidateDir = `${repository.root}/.git`;
  const changes = await diffTrees({ gitDir: candidateDir, from: parent, to: commit, maxEntries: 100, timeoutMs: 9000 });
  const [story] = parsePrd(Buffer.from(prdWith(A, B)), 'prd.json').stories;
  const attempt = {
    resources: { candidateDir },
    signal: new AbortController().signal,
    config: { land: { protect } },
    inputs: { story: story!, state: { repo: { source: '', mirror: '', branch: 'main', base: parent, guarded } } },
  };
  return judgePaths(attempt, { parent, commit, changed: changes.map(toFileChange) });
}

const NOTHING: JudgedPaths = { paths: [], named: [], prds: [] };

describe('a change without an approval', () => {
  it.for<[string, (repository: TestRepository) => void, Rules?]>([
    ['of ordinary files', ({ write }) => write('src/a.ts', 'b')],
    ['of a file in a known folder with a dot', ({ write }) => write('.known/other', 'y')],
    [
      'of a path that is only similar to a guarded one',
      ({ write }) => write('tools/x', ''),
      { guarded: [{ path: 'tool' }] },
    ],
    ['that marks the own story in the PRD', ({ write }) => write('prd.json', prdWith({ ...A, passes: true }, B))],
    [
      'of a path that `land.protect` excludes',
      ({ write }) => write('.github/workflows/ci.yml', ''),
      { protect: ['!**/.github/**'] },
    ],
  ])('is one %s', async ([, change, rules], { repository }) => {
    expect(await judge(repository, change, rules)).toEqual(NOTHING);
  });
});

describe('a change that needs an approval', () => {
  it.for<[string, (repository: TestRepository) => void, Partial<JudgedPaths>, Rules?]>([
    [
      'of CI',
      ({ write }) => write('.github/workflows/ci.yml', 'on: never'),
      { paths: ['.github/workflows/ci.yml'], named: ['.github/workflows/ci.yml'] },
    ],
    [
      'of CI, by removing it',
      ({ git }) => git('rm', '-q', '.github/workflows/ci.yml'),
      { paths: ['.github/workflows/ci.yml'] },
    ],
    ['of a new folder with a dot', ({ write }) => write('.tool/run.sh', ''), { paths: ['.tool/run.sh'] }],
    [
      'of a link in place of a folder with a dot',
      ({ root }) => symlinkSync('src', `${root}/.tool`),
      { paths: ['.tool'] },
    ],
    [
      'of a guarded file, with the setting that names it',
      ({ write }) => write('hooks/pre', 'x'),
      { paths: ['hooks/pre'], named: ['hooks/pre (core.hooksPath)'] },
      { guarded: [{ path: 'hooks', setting: 'core.hooksPath' }] },
    ],
    [
      'of what `land.protect` names',
      ({ write }) => write('src/a.ts', 'b'),
      { paths: ['src/a.ts'] },
      { protect: ['src/**'] },
    ],
    [
      'that marks another story in the PRD',
      ({ write }) => write('prd.json', prdWith(A, { ...B, passes: true })),
      { paths: ['prd.json'], named: [], prds: ['prd.json: marks B as done'] },
    ],
    [
      'that removes a story from the PRD',
      ({ write }) => write('prd.json', prdWith({ ...A, passes: true })),
      { paths: ['prd.json'], prds: ['prd.json: removes B'] },
    ],
    ['that removes the PRD', ({ git }) => git('rm', '-q', 'prd.json'), { paths: ['prd.json'], named: ['prd.json'] }],
    [
      'that marks the own story, in a PRD that `land.protect` names',
      ({ write }) => write('prd.json', prdWith({ ...A, passes: true }, B)),
      { paths: ['prd.json'], prds: ['prd.json: marks the story itself'] },
      { protect: ['prd.json'] },
    ],
    [
      'of a PRD of the run with another name',
      ({ write }) => write('work.json', prdWith(A, B)),
      { paths: ['work.json'], named: ['work.json'] },
      { guarded: [{ path: 'work.json' }] },
    ],
  ])('is one %s', async ([, change, expected, rules], { repository }) => {
    expect(await judge(repository, change, rules)).toMatchObject(expected);
  });

  it('is named by the path that the story changed, not by the link that makes it protected', async ({ repository }) => {
    const judged = await judge(repository, ({ write }) => write('build/config.yml', 'x'));
    expect(judged).toMatchObject({ paths: ['build/config.yml'], named: ['build/config.yml'] });
  });
});
