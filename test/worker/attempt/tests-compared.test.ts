import { describe, expect } from 'vitest';
import { it as base } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** A gate that says in TAP what the file `tests` lists, and fails where it lists `bad`. */
const TAP_GATE = `echo TAP version 13; while read -r t; do echo "ok 1 - $t"; done < tests; echo "1..9"; ! grep -q bad tests`;

const it = base.extend('run', ({ halo }) => {
  return (repository: TestRepository, agent: string, gates: string[], more: string[] = [], ids = ['A']) => {
    const stories = ids.map((id) => ({ id }));
    return halo.run(repository.root, stories, scripted(`${agent}; ${OK}`, gates, more));
  };
});

describe('a story that removes tests', () => {
  it('lands, and its logs report the loss', async ({ halo, run }) => {
    const repository = newRepository({ tests: 'adds\nsubtracts\ndivides\n' });
    const state = await run(repository, `printf 'adds\\nsubtracts # SKIP\\nnew\\n' > tests`, [TAP_GATE]);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(state.stories[0]!.tests).toEqual({
      before: 3,
      after: 3,
      removed: ['divides'],
      skipped: ['subtracts'],
      emptied: [],
    });
    const reported = '3 before, 3 after; removed: divides; skipped: subtracts';
    expect(halo.readFile(state.runId, 'agent.log')).toContain(reported);
    expect(halo.readFile(state.runId, 'progress.md')).toContain(`- tests: ${reported}`);
  });

  it('does not land with tests.removed=block', async ({ run }) => {
    const repository = newRepository({ tests: 'adds\nsubtracts\n' });
    const state = await run(repository, 'echo adds > tests', [TAP_GATE], ['tests.removed=block']);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain('tests that were there before are gone: 1 removed (subtracts)');
    expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
  });

  it('is detected if it silences the gate as a whole', async ({ run }) => {
    const repository = newRepository({ tests: 'adds\n', 'run.sh': TAP_GATE });
    const state = await run(repository, 'echo true > run.sh', ['sh run.sh'], ['tests.removed=block']);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
  });

  it('is detected by a report file, and no link can redirect it', async ({ halo, run }) => {
    const xml = (...names: string[]) =>
      `<testsuite>${names.map((name) => `<testcase name="${name}"/>`).join('')}</testsuite>`;
    const repository = newRepository({ 'names.xml': xml('a', 'b') });
    const gates = ['mkdir -p out && cp names.xml out/junit.xml'];
    const reports = 'tests.reports=["out/junit.xml"]';
    const honest = await run(repository, `echo '${xml('b')}' > names.xml`, gates, [reports]);
    expect(honest.stories[0]!.tests).toMatchObject({ before: 2, after: 1, removed: ['a'] });
    const astray = await run(
      repository,
      'rm names.xml; ln -s ../etc/passwd names.xml; rm names.xml; date +%N > names.xml',
      ['mkdir -p out && ln -sf /etc/passwd out/junit.xml'],
      [reports],
    );
    expect(halo.readFile(astray.runId, 'journal.jsonl')).not.toContain('root:x');
  });
});

describe('the baseline', () => {
  it('distinguishes a broken base from a broken story', async ({ run }) => {
    const broken = newRepository({ tests: 'bad\n' });
    const state = await run(broken, 'date +%N > file', ['true', TAP_GATE]);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain('; it fails on the base commit as well');
    const good = newRepository({ tests: 'adds\n' });
    const story = await run(good, 'echo bad > tests', ['true', TAP_GATE]);
    expect(story.stopReason).toBe('GATE_FAILED');
    expect(story.detail).not.toContain('base commit');
  });

  it('runs once for a commit, and never for one that has landed by the same gates', async ({ halo, run }) => {
    const repository = newRepository({ tests: 'adds\n', log: '' });
    const first = await run(repository, 'date +%N > file', [TAP_GATE], [], ['A', 'B']);
    const second = await run(repository, 'date +%N > file', [TAP_GATE]);
    const baselines = [first, second].map(({ runId, stories }) =>
      stories.map(({ key }) => {
        try {
          return halo.readFile(runId, `artifacts/${key}/1/baseline/1.log`) !== '';
        } catch {
          return false;
        }
      }),
    );
    expect(baselines).toEqual([[true, false], [false]]);
  });

  it('is omitted if it is switched off', async ({ run }) => {
    const repository = newRepository({ tests: 'bad\n' });
    const state = await run(repository, 'date +%N > file', [TAP_GATE], ['tests.baseline=never']);
    expect(state.stopReason).toBe('GATE_FAILED');
    expect(state.detail).not.toContain('base commit');
  });
});
