import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it as base } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** A gate that says in TAP what the file `tests` lists, and fails where it lists `bad`. */
const TAP_GATE = `echo TAP version 13; while read -r t; do echo "ok 1 - $t"; done < tests; echo "1..$(wc -l < tests)"; ! grep -q bad tests`;

const xmlOf = (...names: string[]) =>
  `<testsuite>${names.map((name) => `<testcase name="${name}"/>`).join('')}</testsuite>`;

/** What the agent does in each story, which it finds in the first line of its prompt. */
const agentOf = (scripts: Record<string, string>) =>
  `case "$(head -n 1)" in ${Object.entries(scripts)
    .map(([id, script]) => `*'"${id}"'*) ${script};;`)
    .join(' ')} esac`;

const it = base
  .extend('run', { scope: 'file' }, ({ halo }) => {
    return (repository: TestRepository, agent: string, gates: string[], more: string[] = [], ids = ['A']) => {
      const stories = ids.map((id) => ({ id }));
      return halo.run(repository.root, stories, scripted(`${agent}; ${OK}`, gates, ['tests.baseline=auto', ...more]));
    };
  })
  .extend('blocked', { scope: 'file' }, async ({ run }) => {
    const repository = newRepository({ tests: 'adds\nsubtracts\n', 'run.sh': TAP_GATE });
    const scripts = { removes: 'echo adds > tests', silences: 'echo true > run.sh', breaks: 'echo bad >> tests' };
    const more = ['tests.removed=block', 'run.on_failure="continue"'];
    const state = await run(repository, agentOf(scripts), ['sh run.sh'], more, Object.keys(scripts));
    return { repository, stories: new Map(state.stories.map((story) => [story.id, story])) };
  })
  .extend('reporting', { scope: 'file' }, async ({ run }) => {
    const repository = newRepository({ 'names.xml': xmlOf('a', 'b') });
    const gate = `mkdir -p out; if test -f names.xml; then cp names.xml out/junit.xml; else ln -sf /etc/passwd out/junit.xml; fi`;
    const next = (agent: string, ids?: string[]) =>
      run(repository, agent, [gate], ['tests.reports=["out/junit.xml"]'], ids);
    const scripts = { honest: `echo '${xmlOf('b')}' > names.xml`, astray: 'rm names.xml' };
    return { first: await next(agentOf(scripts), Object.keys(scripts)), second: await next('date +%N > file') };
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

  it('does not land with tests.removed=block', ({ blocked }) => {
    const story = blocked.stories.get('removes')!;
    expect(story).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    expect(story.summary).toContain('tests that were there before are gone: 1 removed (subtracts)');
    expect(blocked.repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
  });

  it('is detected if it silences the gate as a whole', ({ blocked }) => {
    const story = blocked.stories.get('silences')!;
    expect(story).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    expect(story.summary).toContain('tests that were there before are gone: ');
  });

  it('is detected by a report file, and no link can redirect it', ({ halo, reporting }) => {
    const { runId, stories } = reporting.first;
    expect(stories[0]!.tests).toMatchObject({ before: 2, after: 1, removed: ['a'] });
    expect(stories[1]).toMatchObject({ attempts: 1 });
    expect(halo.readFile(runId, 'journal.jsonl')).not.toContain('root:x');
  });
});

describe('tests that a runner names for people', () => {
  const test = (name: string) => `    def test_${name}(self): self.assertEqual(2, 1 + 1)\n`;
  const CALC = `import unittest\nclass Calc(unittest.TestCase):\n${test('adds')}${test('sums')}`;
  const HUSHES = 'sed -i "s/ -v//" run.sh';
  const BLOCKED = ['tests.removed=block', 'run.on_failure="continue"', 'retry.attempts=1', 'tests.baseline=always'];

  it('may not be removed with tests.removed=block, nor hidden from the comparison', async ({ run }) => {
    const repository = newRepository({ 'test_calc.py': CALC, 'run.sh': 'python3 -B -m unittest -v test_calc' });
    const scripts = { removes: 'sed -i /sums/d test_calc.py', hushes: HUSHES };
    const { stories } = await run(repository, agentOf(scripts), ['sh run.sh'], BLOCKED, Object.keys(scripts));
    const [removes, hushes] = stories;
    expect(removes).toMatchObject({ stopReason: 'GATE_FAILED', tests: { before: 2, after: 1 } });
    expect(removes!.summary).toContain('gone: 1 removed (test_calc.Calc.test_sums)');
    expect(hushes).toMatchObject({ stopReason: 'GATE_FAILED', tests: { before: 2, after: 0, removed: [] } });
    expect(hushes!.summary).toContain('is not known: unittest ran 2 tests without naming them: add `-v`');
  });

  it('may not be hidden either if another runner names none of its own', skipFor(belowFull()), async ({ run }) => {
    const gate = 'echo "1 runs, 1 assertions, 0 failures, 0 errors"; python3 -B -m unittest -v test_calc';
    const repository = newRepository({ 'test_calc.py': CALC, 'run.sh': gate });
    const both = await run(repository, agentOf({ hushes: HUSHES }), ['sh run.sh'], BLOCKED, ['hushes']);
    expect(both.stories).toMatchObject([{ stopReason: 'GATE_FAILED', tests: { before: 2, after: 0, removed: [] } }]);
  });
});

describe('the baseline', () => {
  it('distinguishes a broken base from a broken story', async ({ run, blocked }) => {
    const broken = newRepository({ tests: 'bad\n' });
    const state = await run(broken, 'date +%N > file', ['true', TAP_GATE], ['retry.attempts=3']);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ attempts: 1 }] });
    expect(state.stories[0]!.lastFailure).toEqual({ class: 'environment', rule: 'halt', cause: 'base-broken' });
    expect(state.detail).toContain('; it fails on the base commit as well');
    const story = blocked.stories.get('breaks')!;
    expect(story.stopReason).toBe('GATE_FAILED');
    expect(story.summary).toContain('exit');
    expect(story.summary).not.toContain('base commit');
  });

  it('lets a person decide about a broken base, and the agent continue and repair it', async ({ halo, run }) => {
    const broken = newRepository({ tests: 'bad\n' });
    const repairs = 'if grep -q "^Repair it"; then ls file && echo good > tests; else echo x > file; fi';
    const asked = await run(broken, repairs, [TAP_GATE], ['tests.broken_base=ask']);
    expect(asked).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{ question: { cause: 'base-broken' } }] });
    await halo.operations.answer({ runId: asked.runId, story: 'A', option: 1 });
    const { stopReason, stories } = await halo.untilEnd(asked.runId);
    expect({ stopReason, attempts: stories[0]!.attempts }).toEqual({ stopReason: 'SUCCESS', attempts: 2 });
    const changed = broken.git('diff', '--name-only', 'HEAD', `halo/${asked.runId}`);
    expect(changed.split('\n')).toEqual(['file', 'tests']);
  });

  it('runs once for a commit, and never for one that has landed by the same gates', ({ halo, reporting }) => {
    const baselines = [reporting.first, reporting.second].map(({ runId, stories }) =>
      stories.map(({ key }) => existsSync(join(halo.home, 'runs', runId, `artifacts/${key}/1/baseline/1.log`))),
    );
    expect(baselines).toEqual([[true, false], [false]]);
  });

  it('is omitted if it is switched off', skipFor(belowFull()), async ({ run }) => {
    const repository = newRepository({ tests: 'bad\n' });
    const state = await run(repository, 'date +%N > file', [TAP_GATE], ['tests.baseline=never']);
    expect(state.stopReason).toBe('GATE_FAILED');
    expect(state.detail).not.toContain('base commit');
  });
});
