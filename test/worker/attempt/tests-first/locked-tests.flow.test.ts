import { symlinkSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { JournalEntry } from '../../../../src/core/journal/events.ts';
import { assertLockedTests } from '../../../../src/worker/attempt/tests-first/locked-tests.ts';
import { it } from '../../../support/fixtures.ts';
import type { TestRepository } from '../../../support/repository/repository.ts';

type First = 'on' | 'report';

/** Checks the locks of two test files on a commit with this change. Returns what the journal has. */
async function check(repository: TestRepository, change: () => void, first: First = 'on'): Promise<JournalEntry[]> {
  repository.write('a.test.ts', 'a');
  repository.write('test/b.test.ts', 'b');
  repository.commit('tests');
  const files = ['a.test.ts', 'test/b.test.ts'].map((path) => ({
    path,
    blob: repository.git('rev-parse', `HEAD:${path}`),
  }));
  change();
  const commit = repository.commit('change');
  const reported: JournalEntry[] = [];
  const attempt = {
    resources: { candidateDir: `${repository.root}/.git` },
    signal: new AbortController().signal,
    config: { tests: { first } },
    journal: {
      report: (entry: object) => {
        reported.push(entry as JournalEntry);
        return Promise.resolve();
      },
    },
  };
  await assertLockedTests(attempt, { command: 'npm test {files}', files, cases: [] }, commit);
  return reported;
}

describe('locked tests', () => {
  it.for<[string, (repository: TestRepository) => void]>([
    ['other files change', ({ write }) => write('src/a.ts', 'new')],
    ['another file has the same name in another folder', ({ write }) => write('other/a.test.ts', 'x')],
    ['one of them becomes executable', ({ git }) => git('update-index', '--chmod=+x', 'a.test.ts')],
  ])('are kept if %s', async ([, change], { repository }) => {
    expect(
      await check(repository, () => {
        change(repository);
        repository.write('more.txt', '');
      }),
    ).toEqual([]);
  });

  it.for<[string, (repository: TestRepository) => unknown, string]>([
    ['one of them is edited', ({ write }) => write('a.test.ts', 'A'), 'a.test.ts'],
    ['one of them is removed', ({ git }) => git('rm', '-q', 'a.test.ts'), 'a.test.ts'],
    ['one of them is moved', ({ git }) => git('mv', 'test/b.test.ts', 'b.test.ts'), 'test/b.test.ts'],
    [
      'one of them becomes a link to a file with its content',
      ({ root, git, write }) => {
        write('copy', 'a');
        git('rm', '-q', 'a.test.ts');
        symlinkSync('copy', `${root}/a.test.ts`);
      },
      'a.test.ts',
    ],
    [
      'a folder takes the place of one',
      ({ git, write }) => {
        git('rm', '-q', 'a.test.ts');
        write('a.test.ts/a.test.ts', 'a');
      },
      'a.test.ts',
    ],
    ['all of them are gone', ({ git }) => git('rm', '-q', 'a.test.ts', 'test/b.test.ts'), 'a.test.ts, test/b.test.ts'],
  ])('end the attempt if %s', async ([, change, named], { repository }) => {
    await expect(check(repository, () => change(repository))).rejects.toMatchObject({
      outcome: {
        stopReason: 'POLICY_VIOLATION',
        summary: `the tests of the story may not be changed: ${named}`,
      },
    });
  });

  it('are only reported with tests.first = "report"', async ({ repository }) => {
    const reported = await check(repository, () => repository.write('a.test.ts', 'A'), 'report');
    expect(reported).toEqual([
      { type: 'tests.judged', step: 'locks', why: 'the tests of the story may not be changed: a.test.ts' },
    ]);
  });
});
