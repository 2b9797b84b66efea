import { readFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { initConfig } from '../../src/api/repository/init-config.ts';
import { HaloError } from '../../src/core/failure/errors.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { newRepository } from '../support/repository/new-repository.ts';

let home: string;

beforeEach(() => void (home = tempDir('halo-home')));

const host = () => hostOf(home);

async function init(files: Record<string, string>, lacking: string[] | Error = []) {
  const repository = newRepository(files);
  const asked: [string, readonly string[]][] = [];
  const missingIn = (image: string, programs: readonly string[]) => {
    asked.push([image, programs]);
    return lacking instanceof Error ? Promise.reject(lacking) : Promise.resolve(lacking);
  };
  const made = await initConfig({ host: host(), folder: repository.root, force: false, missingIn });
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
  expect(warnings).toEqual(['go is not in the image halo-sandbox: set `image` to one that has it (docs/images.md).']);
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
  expect(go.sources).toEqual({ 'go vet ./...': ['go.mod'], 'go test ./...': ['go.mod', '.github/workflows/ci.yml'] });
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
