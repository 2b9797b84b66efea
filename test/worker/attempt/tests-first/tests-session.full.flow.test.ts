import { describe, expect } from 'vitest';
import { it as base } from '../../../support/fixtures.ts';
import { scripted } from '../../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../../support/halo/tests-first.ts';
import type { TestRepository } from '../../../support/repository/repository.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

const it = base.extend('run', ({ halo }) => {
  return (repository: TestRepository, script: string, more: string[] = []) => {
    const settings = ['tests.first="on"', TESTS_COMMAND, ...more];
    return halo.run(repository.root, [{ id: 'US-001' }], scripted(script, ['true'], settings));
  };
});

describe('files that a session adds beside its tests', () => {
  it('are named in its next prompt, with the retries of its tests', async ({ halo, run }) => {
    const tests = `${HONEST_TESTS}if ! grep -q 'notes.txt (add)' /tmp/prompt; then echo > notes.txt; fi`;
    const state = await run(newRepository({}), testsFirstAgent(tests, ADD_SUM), ['retry.tests.retries=1']);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    const retries = halo.journal(state.runId).filter((event) => event.type === 'retry.scheduled');
    expect(retries).toMatchObject([{ class: 'tests', rule: 'hint', nth: 1, of: 1 }]);
    const folder = `artifacts/${state.stories[0]!.key}/2`;
    expect(halo.readFile(state.runId, `${folder}/prompt.md`)).not.toContain('notes.txt');
  });

  it('may be empty, such as __init__.py', async ({ run }) => {
    const repository = newRepository({});
    const inFolder = HONEST_TESTS.replace('sum.test.mjs', 'tests/sum.test.mjs').replace('./sum', '../sum');
    const tests = `mkdir tests; : > tests/__init__.mjs; ${inFolder}`;
    const state = await run(repository, testsFirstAgent(tests, ADD_SUM), ['tests.files=["tests/**"]']);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { cases: ['adds'] } }] });
    expect(repository.git('show', '--format=', '--name-only', `halo/${state.runId}`)).toBe(
      'sum.mjs\ntests/__init__.mjs\ntests/sum.test.mjs',
    );
  });

  it('must match the globs with the id of the story', async ({ halo, run }) => {
    const files = ['tests.files=["{id}.test.mjs"]'];
    const named = testsFirstAgent(HONEST_TESTS.replaceAll('sum.test.mjs', 'US-001.test.mjs'), ADD_SUM);
    const good = await run(newRepository({}), named, files);
    expect(good).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [{ locked: { files: [{ path: 'US-001.test.mjs' }] } }],
    });
    const folder = `artifacts/${good.stories[0]!.key}/1/tests`;
    expect(halo.readFile(good.runId, `${folder}/prompt.md`)).toContain('new files that match `US-001.test.mjs`');
    const other = await run(newRepository({}), testsFirstAgent(HONEST_TESTS, ADD_SUM), files);
    expect(other.detail).toContain('sum.test.mjs (add)');
  });
});

describe('a report of tests', () => {
  const REPORT = 'node --test --test-reporter=junit --test-reporter-destination=report.xml';
  const settings = [`tests.command="${REPORT} {files}"`, 'tests.reports=["report.xml"]'];
  const agent = testsFirstAgent(`${HONEST_TESTS}${REPORT} || true`, `${ADD_SUM}${REPORT}`);

  it('is part of no change if an agent left it behind', async ({ run }) => {
    const repository = newRepository({});
    const state = await run(repository, agent, settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('show', '--format=', '--name-only', `halo/${state.runId}`)).toBe('sum.mjs\nsum.test.mjs');
  });

  it('is a changed file like all others if the repository contains it', async ({ run }) => {
    const state = await run(newRepository({ 'report.xml': '<old/>' }), agent, settings);
    expect(state).toMatchObject({ stopReason: 'POLICY_VIOLATION' });
    expect(state.detail).toContain('report.xml (update)');
  });
});

describe('standards for tests', () => {
  const standards = '# Standards\n\nNo globals.\n\n## Testing Standards\n\nOne fixture each.\n\n## Naming\n\nShort.\n';
  const PROMPT = ['prompt.standards=["standards.md"]', 'prompt.test_standards=["standards.md#Testing Standards"]'];

  it('are all that the session which writes tests gets, and the implementation gets all', async ({ halo, run }) => {
    const repository = newRepository({ 'standards.md': standards });
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, ADD_SUM), PROMPT);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const folder = `artifacts/${state.stories[0]!.key}/1`;
    const [tests, story] = ['tests/prompt.md', 'prompt.md'].map((name) =>
      halo.readFile(state.runId, `${folder}/${name}`),
    );
    expect(tests).toContain('One fixture each.');
    expect(tests).not.toMatch(/No globals|Naming/);
    expect(story!.match(/One fixture each/g)).toHaveLength(1);
    expect(story).toMatch(/No globals[^]*Naming/);
  });

  it('must exist, also in a file that is there as a whole', async ({ run }) => {
    const refused = run(newRepository({ 'standards.md': '# None\n' }), testsFirstAgent(HONEST_TESTS, ADD_SUM), PROMPT);
    await expect(refused).rejects.toThrow('has no heading "Testing Standards"');
  });
});

describe('tests without an assertion', () => {
  /** A runner that counts assertions. */
  const RUNNER = `import { existsSync, readFileSync } from 'node:fs';
const [file] = process.argv.slice(2);
const fails = !existsSync('sum.mjs');
const count = fails ? 0 : readFileSync(file, 'utf8').split('assert').length - 1;
console.log('<testsuite><testcase name="adds" assertions="' + count + '">' + (fails ? '<failure/>' : '') + '</testcase></testsuite>');
process.exit(fails ? 1 : 0);
`;
  const settings = ['tests.command="node run.mjs {files}"', 'retry.tests.retries=1'];

  it('are written again when the change is there, in a session that knows why', async ({ halo, run }) => {
    const repository = newRepository({ 'run.mjs': RUNNER });
    const tests = `if grep -q 'that their runner counts: adds' /tmp/prompt; then echo assert > a.test.mjs; else echo import > a.test.mjs; fi`;
    const state = await run(repository, testsFirstAgent(tests, ADD_SUM), settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2, keptTests: { attempt: 2 } }] });
    const retries = halo.journal(state.runId).filter((event) => event.type === 'retry.scheduled');
    expect(retries).toMatchObject([{ class: 'tests', why: expect.stringContaining('adds') as string }]);
  });
});
