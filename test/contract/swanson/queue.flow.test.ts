import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { answerWith } from '../../support/halo/tests-first.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { codeBlocks } from '../../support/text/markdown.ts';

const PAGE = readFileSync(new URL('../../../docs/coming-from.md', import.meta.url), 'utf8');

/** What the page says for pytest, and the same for node:test, which is in the image of halo. */
const NODE: [python: string, node: string][] = [
  ['python3 -m venv .venv && .venv/bin/pip install -r requirements.txt', 'true'],
  ['.venv/bin/pytest -v tests', 'node --test --test-reporter=tap tests/*.mjs'],
  [
    '.venv/bin/python -m pytest -q --junit-xml=report.xml {files}',
    'node --test --test-reporter=junit --test-reporter-destination=report.xml {files}',
  ],
  ['tests/test_{id}.py', 'tests/test_{id}.mjs'],
];

function settingsOfPage(): string {
  const [settings = ''] = codeBlocks(PAGE, 'toml');
  return NODE.reduce((text, [python, node]) => {
    expect(text).toContain(python);
    return text.replace(python, node);
  }, settings);
}

/** The PRD with which swanson tests itself. */
const HEALTH = {
  type: 'feature',
  name: 'Health check',
  description: 'An endpoint for monitoring.',
  userStories: [
    {
      id: 'US-001',
      title: 'Basic health check',
      description: 'As an operator, I want to see that the service is healthy.',
      acceptanceCriteria: ['health() has the status 200', 'its body says healthy', 'it takes less than 100 ms'],
      priority: 1,
      complexity: 'simple',
      passes: false,
    },
  ],
};

const file = (path: string, text: string) => `mkdir -p $(dirname ${path}); cat > ${path} <<'X'\n${text}X\n`;
const testOf = (name: string, body: string) =>
  `check('${name}', async () => { const { health } = await import('../src/app.mjs'); ${body} });\n`;
const TESTS = [
  `import { test as check } from 'node:test'; import assert from 'node:assert/strict';\n`,
  testOf('has status 200', 'assert.equal(health().status, 200);'),
  testOf('says healthy', "assert.equal(health().body.status, 'healthy');"),
  testOf('is fast', 'const start = Date.now(); health(); assert.ok(Date.now() - start < 100);'),
].join('');
const APP = `export const health = () => ({ status: 200, body: { status: 'healthy' } });\n`;
/** As the prompt asks, the agent runs the tests itself, and leaves their report behind. */
const RUN = 'node --test --test-reporter=junit --test-reporter-destination=report.xml tests/*.mjs || true;';
const AGENT = `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then
${file('tests/test_US-001.mjs', TESTS)}${RUN} ${answerWith([['has status 200'], ['says healthy'], ['is fast']])}
else ${file('src/app.mjs', APP)}${RUN} ${OK}; fi`;

let home: HaloHome;
let repository: TestRepository;
beforeEach(() => {
  home = openHome();
  repository = makeRepository();
});
afterEach(async () => {
  await home.close();
  repository.remove();
});

/** As if it had been there for a minute: a queue waits until a new file stays as it is. */
function addPrd(name: string, text: string): void {
  repository.write(`prds/${name}`, text);
  const before = Date.now() / 1_000 - 60;
  utimesSync(join(repository.root, 'prds', name), before, before);
}

const halo = (...words: string[]) => callHalo(words, { cwd: repository.root, env: { HALO_HOME: home.dir } });

it('the queue of swanson runs its own PRD with the settings of the page: three tests, red, locked and green', async () => {
  repository.write('standards.md', '# Standards\n\nNo globals.\n\n## Testing Standards\n\nArrange, act, assert.\n');
  repository.write('product-vision.md', 'For everyone on call.\n');
  repository.write('halo.toml', settingsOfPage());
  repository.commit('the settings of the page');
  addPrd('001-FEAT-health.json', JSON.stringify(HEALTH));

  const agent = ['-c', 'agent=command', '-c', `agents.command.run=${JSON.stringify(AGENT)}`];
  const queue = await halo('queue', 'prds', ...agent);
  expect(queue).toMatchObject({ code: 0 });

  const [runId = ''] = home.runIds();
  const events = readJournal(home.dir, runId);
  const phases = events.flatMap((event) => (event.type === 'phase.started' ? [event.phase] : []));
  expect(phases.filter((phase) => phase !== 'setup')).toEqual([
    ...['prepare', 'tests', 'red', 'agent', 'export', 'import', 'gates', 'land'],
  ]);
  const locked = events.find((event) => event.type === 'tests.locked');
  expect(locked).toMatchObject({ files: [{ path: 'tests/test_US-001.mjs' }] });
  expect(locked!.criteria!.map(({ tests }) => tests.length)).toEqual([1, 1, 1]);
  const gates = events.flatMap((event) => (event.type === 'gate.ended' ? [event.exitCode] : []));
  expect(gates).toEqual([0, 0]);

  const read = (path: string) => readFileSync(join(home.dir, 'runs', runId, path), 'utf8');
  const folder = `artifacts/${storyKey('US-001')}/1`;
  const tests = read(`${folder}/tests/prompt.md`);
  expect(tests).toContain('Arrange, act, assert.');
  expect(tests).not.toContain('No globals.');
  expect(read(`${folder}/prompt.md`)).toContain('No globals.');
  expect(repository.git('show', '--name-only', '--format=%s', `halo/${runId}`).split('\n')).toEqual([
    ...['feat: basic health check (US-001)', '', 'src/app.mjs', 'tests/test_US-001.mjs'],
  ]);
  const history = read('history.md');
  for (const line of ['- title: Basic health check', '- locked tests: 3 of 3 passed', '- [x] its body says healthy'])
    expect(history).toContain(`${line}\n`);
  expect(history.match(/- \[x\]/g)).toHaveLength(3);
  expect(readFileSync(join(repository.root, 'prds/done/001-FEAT-health.json'), 'utf8')).toContain('"passes":true');
});

it('the results of a queue land although the PRDs that were moved to done/ are not committed yet', async () => {
  const prdOf = (id: string) =>
    JSON.stringify({ ...HEALTH, name: id, userStories: [{ ...HEALTH.userStories[0], id, title: id }] });
  addPrd('1.json', prdOf('US-001'));
  addPrd('2.json', prdOf('US-002'));
  repository.commit('the queue');
  const settings = scripted(`grep -o 'US-00[12]' | head -n 1 >> order.txt; ${OK}`, ['true']).flatMap((pair) => [
    '-c',
    pair,
  ]);
  const queue = await halo('queue', 'prds', ...settings);
  expect(queue, queue.stderr).toMatchObject({ code: 0 });
  expect(queue.stderr).toContain(`halo land ${home.runIds().at(-1)}`);

  const land = await halo('land');
  expect(land, land.stderr).toMatchObject({ code: 0 });
  expect(repository.git('show', 'HEAD:order.txt')).toBe('US-001\nUS-002');
  expect(
    repository
      .git('status', '--short', '-uall')
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual([...['D prds/1.json', 'D prds/2.json', '?? prds/done/1.json', '?? prds/done/2.json']]);
});
