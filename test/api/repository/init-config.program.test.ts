import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { initConfig } from '../../../src/api/repository/init-config.ts';
import { readConfig } from '../../../src/api/repository/repo-config.ts';
import type { composeServices } from '../../../src/cli/compose.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { runCli, type CliOptions } from '../../support/terminal/cli-world.ts';
import { LISTED_AGENTS } from '../../support/agent-ids.ts';

let home: string;

beforeEach(() => void (home = tempDir('halo-home')));

const host = () => hostOf(home);

async function init(files: Record<string, string>, lacking: string[] | Error = []) {
  const repository = newRepository(files);
  const asked: [string, readonly string[]][] = [];
  const versionsIn = (image: string, programs: readonly string[]) => {
    asked.push([image, programs]);
    if (lacking instanceof Error) return Promise.reject(lacking);
    return Promise.resolve(new Map(programs.map((name) => [name, lacking.includes(name) ? undefined : ''])));
  };
  const made = await initConfig({ host: host(), folder: repository.root, force: false, versionsIn });
  return { ...made, asked, text: readFileSync(made.path, 'utf8') };
}

const NODE = {
  'package.json': '{"scripts": {"test": "x"}}',
  'package-lock.json': '{}',
  '.gitignore': 'node_modules\n',
};

test('halo init allows the registry of the setup that it guesses, and finds the PRD', async () => {
  const made = await init({ ...NODE, 'scripts/ralph/prd.json': '{}' });
  expect(made).toMatchObject({ setup: ['npm ci'], registries: ['npm'], warnings: [], prd: 'scripts/ralph/prd.json' });
  expect(made.text).toContain('\nregistries = ["npm"]\n');
  expect(made.asked).toEqual([['halo-sandbox', ['npm']]]);
});

test('halo init names guessed tools that the image lacks', async () => {
  const { warnings, prd } = await init({ 'go.mod': 'module x\n' }, ['go']);
  expect(warnings).toEqual([
    'go is not in the image halo-sandbox: build an image that has it (docs/setup.md, "Images"), and set `image` in <HALO_HOME>/config.toml or in the variable HALO_IMAGE.',
  ]);
  expect(prd).toBeUndefined();
});

test('halo init reports that it could not inspect the image', async () => {
  const { warnings } = await init(NODE, new HaloError('DOCKER_UNAVAILABLE', 'Docker does not answer.'));
  expect(warnings).toEqual(['Whether the image halo-sandbox has npm could not be looked up: Docker does not answer.']);
});

test('halo init names what git must ignore so that the gates find it', async () => {
  const { warnings } = await init({ 'go.mod': 'module x\n', 'go.sum': '' });
  expect(warnings).toEqual([
    'Add /.go-modules/ to .gitignore: what setup puts there is removed before the gates unless git ignores it.',
  ]);
});

test('halo init names what setup and tests leave behind, so that it is part of no change', async () => {
  const project = { 'requirements.txt': 'pytest==8.0\n' };
  const { warnings, setup } = await init(project);
  expect(setup).toEqual(['python3 -m venv .venv && .venv/bin/pip install -r requirements.txt']);
  expect(warnings).toEqual([
    'Add .venv/ and __pycache__/ to .gitignore: otherwise what setup and tests leave there is part of each change.',
  ]);
  expect((await init({ ...project, '.gitignore': '.venv/\n__pycache__/\n' })).warnings).toEqual([]);
});

const WORKFLOW = `
on: [push, pull_request]
jobs:
  test:
    runs-on: \${{ matrix.os }}
    steps:
      - uses: actions/checkout@v4
      - run: npm ci
      - run: npm run lint:fix && npm run lint
      - name: Test
        run: |
          npm test
          npm run typecheck:all
          npm run deploy
          npm run elsewhere
      - run: npm run check:site
        working-directory: site
  release:
    runs-on: windows-latest
    steps:
      - run: npm run build:exe
`;

const SCRIPTS = {
  ...{ lint: 'eslint', 'lint:fix': 'eslint --fix', test: 'node --test', 'typecheck:all': 'tsc', deploy: 'x' },
  ...{ 'check:site': 'x', 'build:exe': 'x', 'check:unused': 'knip' },
};

test('halo init completes and confirms its gates with the scripts that workflows run', async () => {
  const { gates, sources, text } = await init({
    ...NODE,
    'package.json': JSON.stringify({ scripts: SCRIPTS }),
    '.github/workflows/test.yml': WORKFLOW,
    '.github/workflows/release.yml': 'on: {release: {}}\njobs: {x: {steps: [{run: npm run check:unused}]}}\n',
  });
  expect(gates).toEqual(['npm run lint', 'npm test', 'npm run typecheck:all']);
  const both = ['package.json', '.github/workflows/test.yml'];
  expect(sources).toEqual({ 'npm run lint': both, 'npm test': both, 'npm run typecheck:all': both });
  expect(text).toContain(
    '\n# detected: .github/workflows/test.yml runs npm run lint, npm test, npm run typecheck:all\n',
  );
});

test('halo init keeps a guess that covers what workflows run, and names the workflows', async () => {
  const scripts = { test: 'npm run lint && npm run unit', lint: 'xo', unit: 'ava' };
  const steps = 'on: push\njobs: {x: {steps: [{run: npm run lint}, {run: npm run unit}]}}\n';
  const node = await init({ 'package.json': JSON.stringify({ scripts }), '.github/workflows/ci.yaml': steps });
  expect(node).toMatchObject({ gates: ['npm test'], sources: { 'npm test': ['package.json'] } });
  const go = await init({
    'go.mod': 'module x\n',
    '.github/workflows/ci.yml': 'on: push\njobs: {x: {steps: [{run: go test -race ./...}, {run: make lint}]}}\n',
  });
  expect(go.sources).toEqual({
    'go vet ./...': ['go.mod'],
    'go test -v ./...': ['go.mod', '.github/workflows/ci.yml'],
  });
});

test.each([
  ['no YAML', 'on: [push\njobs: {{{'],
  ['deep', `on: push\njobs: ${'['.repeat(30_000)}`],
  [
    'full of aliases',
    `a: &a [x,x]\n${Array.from('bcdefghijkl', (each, n) => `${each}: &${each} [${`*${'abcdefghijkl'[n]},`.repeat(9)}]`).join('\n')}\n`,
  ],
  ['huge', `on: push\n${'# x\n'.repeat(100_000)}jobs: {x: {steps: [{run: npm run check:x}]}}`],
  [
    'of other types',
    'on: {push: 1}\njobs: {x: {steps: {run: [1]}}, y: 7, z: {steps: [{run: {a: npm run check:x}}, null]}}',
  ],
  ['a command for the shell', 'on: push\njobs: {x: {steps: [{run: "npm run check:x;id"}, {run: "npm run $(id)"}]}}'],
])('halo init takes no gate from a workflow that is %s, in bounded time', async (_what, workflow) => {
  const before = performance.now();
  const scripts = { test: 'x', 'check:x;id': 'x', '$(id)': 'x' };
  const { gates } = await init({ 'package.json': JSON.stringify({ scripts }), '.github/workflows/ci.yml': workflow });
  expect(gates).toEqual(['npm test']);
  expect(performance.now() - before).toBeLessThan(10_000);
});

const HANKRC = `# hank
export PROJECT_NAME="\${PROJECT_NAME:-shop}"
CLAUDE_TIMEOUT_MINUTES=15
RETRY_MAX_ATTEMPTS="2" # few
RETRY_BACKOFF_INITIAL_SEC='10'
RETRY_BACKOFF_MULTIPLIER=\${MULTIPLIER:-3}
CB_NO_PROGRESS_THRESHOLD=3
CB_SAME_ERROR_THRESHOLD=9
MAX_CALLS_PER_HOUR=50
SESSION_CONTINUITY=true
SESSION_EXPIRY_HOURS=12
ALLOWED_TOOLS="Write,Read,WebFetch,Bash(git log *),Bash(npm test, npm run *)"
`;
const FIX_PLAN = '# Plan\n\n## High Priority\n- [ ] Add the cart\n- [x] Set up\n- [ ] Check out\n';
const HANK = { ...NODE, '.hankrc': HANKRC, '.hank/fix_plan.md': FIX_PLAN, '.hank/specs/cart.md': '# Cart\n' };
const PROMPT = { '.hank/PROMPT.md': 'You build one item of the plan.\n' };

describe('halo init in a repository of another tool', () => {
  function haloInit(files: Record<string, string>, words: string[] = [], more: Partial<CliOptions> = {}) {
    const repository = newRepository(files);
    const run = () => {
      const services = {
        initConfig: (options: Parameters<ReturnType<typeof composeServices>['initConfig']>[0]) =>
          initConfig({ ...options, host: host(), versionsIn: () => Promise.resolve(new Map([['npm', '']])) }),
      };
      return runCli(['init', ...words], { operations: openMemory(), services, cwd: repository.root, ...more });
    };
    const read = (path: string) => readFileSync(join(repository.root, path), 'utf8');
    const exists = (path: string) => existsSync(join(repository.root, path));
    return { root: repository.root, run, read, exists };
  }
  const configOf = async (root: string) =>
    (await readConfig({ host: host(), folder: root, profile: undefined, set: [] })).config;

  test('imports settings, specifications and tasks, and says what it does not use', async () => {
    const { root, run, read } = haloInit({ ...HANK, ...PROMPT });
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(await configOf(root)).toMatchObject({
      agent: 'claude',
      gates: ['npm test'],
      limits: { wallMs: 15 * 60_000 },
      retry: { attempts: 2, backoffMs: 10_000, multiplier: 3 },
      prompt: { before: '.hank/PROMPT.md', specs: ['.hank/specs/**/*.md'] },
      agentOptions: { tools: ['Bash', 'Read', 'Write'], sessionMs: 12 * 3_600_000 },
    });
    expect(JSON.parse(read('.halo/prds/main/prd.json'))).toMatchObject({
      userStories: [{ title: 'Add the cart', passes: false }, { passes: true }, { title: 'Check out' }],
    });
    expect(read('.hank/fix_plan.md')).toBe(FIX_PLAN);
    for (const line of [
      '.hank/fix_plan.md: 2 open tasks, now the PRD main; the file is unchanged',
      '.hankrc: only your own config.toml (HALO_HOME) may set breaker.same_error = 9',
      '.hankrc: only your own config.toml (HALO_HOME) may set rate."claude-sonnet-5-5".rph = 2500 # 50 sessions of 50 requests',
      '.hankrc: not part of agents.claude.tools, which names whole tools: WebFetch, Bash(git log *), Bash(npm test, npm run *)',
      '.hankrc: not used by halo: PROJECT_NAME',
      '.hank/PROMPT.md: every prompt begins with it, as committed; remove what it says about the plan and HANK_STATUS',
    ])
      expect(stdout).toContain(`import   ${line}\n`);
  });

  test('prints limits as lines that config.toml accepts', async () => {
    const { run } = haloInit(HANK);
    const lines = [...(await run()).stdout.matchAll(/may set (.*)\n/g)].map(([, line]) => line);
    const own = newRepository({});
    writeFileSync(join(home, 'config.toml'), `agent = "claude"\n${lines.join('\n')}\n`);
    expect(await configOf(own.root)).toMatchObject({ rate: { 'claude-sonnet-5-5': { rph: 50 * 50 } } });
  });

  test('uses nothing of a folder that git ignores, because prompts contain only what is committed', async () => {
    const { root, run } = haloInit({ '.gitignore': '.hank/\n', '.hankrc': HANKRC });
    mkdirSync(join(root, '.hank/specs'), { recursive: true });
    for (const file of ['PROMPT.md', 'specs/cart.md']) writeFileSync(join(root, '.hank', file), 'text\n');
    await run();
    expect(await configOf(root)).toMatchObject({ agent: 'claude', prompt: { specs: [] } });
  });

  test('prints the result as JSON, with the names that hank uses', async () => {
    const { run } = haloInit(HANK, ['--json']);
    const { stdout, stderr } = await run();
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      project_type: 'javascript',
      files_created: ['.halo/prds/main/prd.json', 'halo.toml'],
      tasks_imported: 2,
    });
  });

  test('ends with 2 and changes nothing if a configuration exists, unless --force is given', async () => {
    const before = 'agent = "codex"\n';
    const { run, read, exists } = haloInit({ ...HANK, 'halo.toml': before });
    expect(await run()).toMatchObject({ code: 2, stdout: '' });
    expect(read('halo.toml')).toBe(before);
    expect(exists('.halo')).toBe(false);
    const forced = haloInit({ ...HANK, 'halo.toml': before }, ['--force']);
    expect((await forced.run()).code).toBe(0);
    expect(forced.read('halo.toml')).toContain('agent = "claude"');
  });

  test('imports nothing with --no-import, and another file with --from', async () => {
    const none = haloInit(HANK, ['--no-import']);
    expect((await none.run()).stdout).not.toContain('import ');
    expect(none.exists('.halo')).toBe(false);
    const other = haloInit({ ...HANK, 'todo.md': '- [ ] Only this\n' }, ['--from', 'todo.md']);
    expect((await other.run()).code).toBe(0);
    expect(other.read('.halo/prds/main/prd.json')).toContain('Only this');
    const missing = haloInit(HANK, ['--from', 'no.md']);
    expect((await missing.run()).code).toBe(6);
    expect(missing.exists('halo.toml')).toBe(false);
  });

  test('does not import tasks where there is a PRD already', async () => {
    const { run, exists } = haloInit({ ...HANK, 'prd.json': '{"tasks": [{"id": "a", "title": "A"}]}' });
    expect((await run()).stderr).toContain('halo run prd.json');
    expect(exists('.halo')).toBe(false);
  });

  test('asks at a terminal, where Enter keeps what was found', async () => {
    const questions: string[] = [];
    const ask = (question: string) => {
      questions.push(question);
      return Promise.resolve('');
    };
    const { root, run } = haloInit(HANK, [], { ask });
    expect((await run()).code).toBe(0);
    expect(questions).toEqual([
      `Agent: ${LISTED_AGENTS} [claude]: `,
      '  [npm ci]: ',
      '  [npm test]: ',
      'Import the settings of .hankrc, .hank/specs/**/*.md? [yes]: ',
      'Import 2 open tasks of .hank/fix_plan.md as the PRD main? [yes]: ',
    ]);
    expect(await configOf(root)).toMatchObject({ agent: 'claude', setup: ['npm ci'], gates: ['npm test'] });
  });

  test('takes other answers, and asks again for wrong ones', async () => {
    const answers = ['cluade', 'gemini', '-', 'npm run Lint', 'node --test "a b"', '', 'maybe', 'no', 'n'];
    const { root, run, exists } = haloInit(HANK, [], { ask: () => Promise.resolve(answers.shift() ?? '') });
    const { code, stderr } = await run();
    expect(code).toBe(0);
    expect(stderr).toContain('There is no agent cluade; did you mean "claude"?');
    expect(stderr).toContain('Answer yes or no.');
    expect(answers).toEqual([]);
    expect(await configOf(root)).toMatchObject({
      agent: 'gemini',
      setup: [],
      gates: ['npm run Lint', 'node --test "a b"'],
      retry: { attempts: 3 },
    });
    expect(exists('.halo')).toBe(false);
  });

  test.each([0, 1, 2, 3, 4])('leaves nothing if the user presses Ctrl-C at question %i', async (at) => {
    let asked = 0;
    const ask = () => (asked++ === at ? Promise.reject(new Error('aborted')) : Promise.resolve(''));
    const { run, exists } = haloInit(HANK, [], { ask });
    const { code, stdout, stderr } = await run();
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain('Nothing was written.');
    expect([exists('halo.toml'), exists('.halo')]).toEqual([false, false]);
  });

  test('asks nothing with --yes', async () => {
    const { run, exists } = haloInit(HANK, ['--yes'], { ask: () => Promise.reject(new Error('asked')) });
    expect((await run()).code).toBe(0);
    expect(exists('.halo/prds/main/prd.json')).toBe(true);
  });

  test('prints nothing with --quiet, and writes the same', async () => {
    const { run, read } = haloInit(HANK, ['--quiet'], { ask: () => Promise.reject(new Error('asked')) });
    expect(await run()).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(read('halo.toml')).toContain('agent = "claude"');
    expect((await run()).stderr).toContain('already exists');
  });

  const STORY = { id: 'US-001', title: 'Health', description: 'd', acceptanceCriteria: ['It answers.'], passes: false };
  const SWANSON = {
    'prds/001-health.json': JSON.stringify({ type: 'feature', name: 'Health', description: 'd', userStories: [STORY] }),
    '.swanson/standards.md': '# Standards\n\n## Testing Standards\n\nAAA.\n',
    '.swanson/product-vision.md': '# Vision\n',
    'requirements.txt': 'pytest\n',
    '.gitignore': '.venv/\n__pycache__/\n',
  };

  test('configures a project of swanson as swanson works, and names its queue', async () => {
    const { root, run } = haloInit(SWANSON);
    const { code, stdout, stderr } = await run();
    expect(code, stderr).toBe(0);
    const config = await configOf(root);
    expect(config).toMatchObject({
      agent: 'claude',
      prompt: {
        standards: ['.swanson/standards.md'],
        testStandards: ['.swanson/standards.md#Testing Standards'],
        vision: '.swanson/product-vision.md',
        prd: 'whole',
      },
      retry: { attempts: 1, tests: { retries: 0 }, policy: { retries: 0 } },
      tests: {
        first: 'on',
        command: '.venv/bin/pytest -q --junit-xml=report.xml {files}',
        files: ['tests/test_{id}.py'],
        reports: ['report.xml'],
      },
    });
    expect(stdout).toContain('import   swanson: tests.first, tests.command, ');
    const shown = await readConfig({ host: host(), folder: root, profile: undefined, set: [] });
    expect(shown.settings).toContainEqual(expect.objectContaining({ key: 'prd.criteria', value: 'required' }));
    expect(stderr).toContain('halo queue prds');
    const json = JSON.parse((await haloInit(SWANSON, ['--json']).run()).stdout) as object;
    expect(json).toMatchObject({ queue: 'prds', agent: 'claude', prd: null });
  });

  test('leaves tests first to the user of a project of swanson without pytest, and out with --no-import', async () => {
    const other = haloInit({ ...SWANSON, ...NODE, 'requirements.txt': 'flask\n' });
    expect((await other.run()).stdout).toContain('swanson: no gate runs pytest; for tests first, set tests.first');
    expect((await configOf(other.root)).tests.first).toBe('off');
    const none = haloInit(SWANSON, ['--no-import', '--yes']);
    expect((await none.run()).stderr).toContain('halo prd new');
    expect((await configOf(none.root)).prompt.standards).toEqual([]);
  });
});
