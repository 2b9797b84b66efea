import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createProject } from '../../../../src/api/repository/new-project.ts';
import { it as base } from '../../../support/fixtures.ts';
import { OK, scripted } from '../../../support/halo/halo.ts';
import {
  ADD_SUM,
  answerWith,
  HONEST_TESTS,
  TESTS_COMMAND,
  testsFirstAgent,
} from '../../../support/halo/tests-first.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const it = base.extend('run', ({ halo }) => {
  return (script: string, acceptanceCriteria: string[], more: string[] = []) => {
    const settings = scripted(script, ['true'], ['tests.first="on"', TESTS_COMMAND, ...more]);
    return halo.run(newRepository({}).root, [{ id: 'A', acceptanceCriteria }], settings);
  };
});

/** A test that passes before and after the story. */
const HOLDS = `cat > node.test.mjs <<'X'
import test from "node:test"; import assert from "node:assert";
test("still counts", () => assert.equal([1].length, 1));
X
`;
const CRITERIA = ['1 and 2 are 3', 'lists still count'];

describe('a criterion that holds before the story', () => {
  const NAMED = answerWith([['adds'], ['still counts']], [2]);

  it('does not excuse the other tests', async ({ run }) => {
    const wrong = answerWith([['adds'], ['still counts']], [1]);
    const state = await run(testsFirstAgent(`${HONEST_TESTS}${HOLDS}`, ADD_SUM, wrong), CRITERIA);
    expect(state).toMatchObject({ stopReason: 'TESTS_NOT_RED' });
    expect(state.detail).toContain('passed before the change that they test: still counts');
  });

  it('is not the only one', async ({ run }) => {
    const state = await run(testsFirstAgent(HOLDS, ADD_SUM, answerWith([['still counts']], [1])), [CRITERIA[1]!]);
    expect(state).toMatchObject({ stopReason: 'TESTS_NOT_RED' });
    expect(state.detail).toContain('no test failed');
  });

  it('is checked after the change as well', async ({ run }) => {
    const breaking = HOLDS.replace('[1].length, 1', '(await import("node:fs")).existsSync("sum.mjs"), false').replace(
      '() =>',
      'async () =>',
    );
    const state = await run(testsFirstAgent(`${HONEST_TESTS}${breaking}`, ADD_SUM, NAMED), CRITERIA);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain('still counts');
  });
});

describe('a criterion without a test', () => {
  it('ends the attempt if the session names the tests of each criterion', async ({ run }) => {
    const two = `${HONEST_TESTS}sed 's/"adds"/"adds again"/' sum.test.mjs > again.test.mjs`;
    const state = await run(testsFirstAgent(two, ADD_SUM, answerWith([['adds', 'adds again'], []])), CRITERIA);
    expect(state).toMatchObject({ stopReason: 'TESTS_MISSING' });
    expect(state.detail).toContain('no test that ran is named for criterion 2');
  });

  it('ends the attempt if there are fewer tests than criteria', async ({ run }) => {
    const state = await run(testsFirstAgent(HONEST_TESTS, ADD_SUM), CRITERIA);
    expect(state).toMatchObject({ stopReason: 'TESTS_MISSING' });
    expect(state.detail).toContain('1 of at least 2 tests, one for each criterion');
  });
});

it('the example of halo new lands with tests first', async ({ halo }) => {
  const folder = join(tempDir('halo-example'), 'shop');
  await createProject({ folder, agent: 'command' });
  const file = (path: string, text: string) => `mkdir -p $(dirname ${path}); cat > ${path} <<'X'\n${text}X\n`;
  const head = `import test from 'node:test'; import assert from 'node:assert/strict';\n`;
  const greets = file(
    'test/name.test.js',
    `${head}test('greets Ada', async () => { const { greet } = await import('../src/greet.js'); assert.equal(greet('Ada'), 'Hello, Ada!'); });
test('greets all', async () => { const { greet } = await import('../src/greet.js'); assert.equal(greet(), 'Hello!'); });
`,
  );
  const prints = file(
    'test/cli.test.js',
    `${head}import { execFileSync } from 'node:child_process';
test('prints', () => { assert.match(execFileSync('node', ['src/cli.js', 'Ada'], { encoding: 'utf8' }), /^Hello, Ada!/); });
`,
  );
  const greet = file('src/greet.js', "export const greet = (name) => (name ? `Hello, ${name}!` : 'Hello!');\n");
  const cli = file('src/cli.js', "import { greet } from './greet.js'; console.log(greet(process.argv[2]));\n");
  const first = answerWith([['greets Ada'], ['greets all']], [2]);
  const agent = `cat > /tmp/prompt; case "$(head -n 1 /tmp/prompt)" in
*"Write the tests"*US-001*) ${greets}${first};; *"Write the tests"*) ${prints}${answerWith([['prints']])};;
*US-001*) ${greet}${OK};; *) ${cli}${OK};; esac`;
  const settings = scripted(agent, ['npm test'], ['tests.first="on"', TESTS_COMMAND]);
  const bytes = new Uint8Array(readFileSync(join(folder, 'prd.json')));
  const request = { prd: { path: join(folder, 'prd.json'), bytes }, repos: [folder], profile: undefined };
  const [submitted] = (await halo.operations.submit({ ...request, set: settings, allowDirty: false })).runs;
  const state = await halo.untilEnd(submitted!.runId);
  expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { holding: ['greets all'] } }, {}] });
  const log = spawnSync('git', ['log', '--format=%s', `main..halo/${state.runId}`], { cwd: folder, encoding: 'utf8' });
  expect(log.stdout.trim().split('\n')).toHaveLength(2);
});
