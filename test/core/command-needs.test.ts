import { describe, expect, it, test } from 'vitest';
import {
  explainOutput,
  NETWORK_UNREACHABLE,
  plainProgramsOf,
  programsOf,
  registriesOf,
  describeUnreachable,
} from '../../src/core/command-needs.ts';

it('only commands that are certain to fail without their program are plain', () => {
  const lines = ['corepack pnpm test', 'env PATH=/workspace/bin pytest', 'cd web && npm test', './gradlew test'];
  expect(plainProgramsOf(lines)).toEqual([]);
  expect(plainProgramsOf([' time make check ', 'cargo test --locked'])).toEqual(['make', 'cargo']);
});

describe('the registries that setup reads', () => {
  it.each([
    ['npm ci', ['npm']],
    ['npm run build', []],
    ['npm test', []],
    ['yarn', ['npm']],
    ['cd web && CI=1 pnpm install --frozen-lockfile', ['npm']],
    ['corepack pnpm i', ['npm']],
    ['python3 -m venv .venv && .venv/bin/pip install -r requirements.txt', ['pypi']],
    ['python -m pip install .', ['pypi']],
    ['uv sync --frozen', ['pypi']],
    ['uv sync --offline', []],
    ['poetry install --no-interaction', ['pypi']],
    ['cargo fetch --locked', ['crates']],
    ['go mod download', ['go']],
    ['apt-get update && apt-get download jq', ['debian']],
    ['make deps', []],
    ['toString', []],
  ])('the registries of %s are %j', (command, registries) => expect(registriesOf([command])).toEqual(registries));
});

test('python3 -m venv needs a package of its own', () => {
  expect(programsOf(['python3 -m venv .venv && .venv/bin/pip install x'])).toEqual(['python3', 'python3-venv']);
  expect(programsOf(['python3 -m unittest'])).toEqual(['python3']);
});

test('a line is searched up to 10,000 characters', () => {
  const line = (blanks: number) => `npm ci;${' '.repeat(blanks)}jq`;
  expect(programsOf([line(9_000)])).toEqual(['npm', 'jq']);
  expect(programsOf([line(10_000)])).toEqual(['npm']);
});

test('programs are those that the image must provide', () => {
  expect(
    programsOf(['npm ci', 'cd web && .venv/bin/pytest', 'X=1 uv run pytest | tee log', './gradlew check']),
  ).toEqual(['npm', 'uv', 'tee']);
});

describe('what the output of a failed command says about the sandbox', () => {
  it.each<[kind: 'setup' | 'gate', command: string, tail: string, expected: string | undefined]>([
    ['gate', 'npm test', 'Error: getaddrinfo EAI_AGAIN cdn.example.com', '"Gates without a network"'],
    [
      'gate',
      'npm run test:chrome',
      'Downloading Chrome\nError: getaddrinfo EAI_AGAIN cdn.playwright.dev',
      '"Playwright"',
    ],
    ['gate', 'pytest -v', 'socket.gaierror: [Errno -3] Temporary failure in name resolution', 'gates have no network'],
    ['gate', 'npm test', 'expected 1 to be 2', undefined],
    ['setup', 'make deps', 'getaddrinfo EAI_AGAIN x', undefined],
    ['setup', 'yarn install', 'error: "ENOSPC: no space left on device, write"', '"Caches"'],
    ['setup', 'cargo fetch', 'usage of sparse registries requires `-Z sparse-registry`', '"Rust"'],
    ['gate', 'go build', 'write /home/agent/x: no space left on device', '"Caches"'],
  ])('%s %s: %j', (kind, command, tail, expected) => {
    const said = explainOutput(kind, { command, tail });
    if (expected === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(expected);
  });
});

it('a submodule that the output of a failed command names is named, because halo does not fetch it', () => {
  const failed = { command: 'npm test', tail: "ENOENT: '/workspace/tests/suite/a.json'" };
  const said = explainOutput('gate', { ...failed, submodules: ['docs', 'tests/suite'] });
  expect(said).toBe('tests/suite is a submodule, which halo does not fetch');
  expect(explainOutput('gate', { ...failed, submodules: ['docs'] })).toBeUndefined();
});

it.each(['at latest/foo.js:3', 'FAIL /workspace/testing/x.js', 'FAIL unittest/x.js', '$ npm test', 'my/test/x.js'])(
  'a part of a path, or a word, is not a submodule: %s',
  (tail) => expect(explainOutput('gate', { command: '', tail, submodules: ['t', 'test'] })).toBeUndefined(),
);

it.each(["cannot open './test/x.c'", 'FAIL test/x.js:3', 'ls: /workspace/test: empty', 'Error("/workspace/test/x")'])(
  'a path in a submodule names it: %s',
  (tail) => expect(explainOutput('gate', { command: '', tail, submodules: ['test'] })).toMatch(/^test is a submodule/),
);

describe('the reason why setup cannot download', () => {
  it('names the setting that allows it', () => {
    const nothing = { registries: [], allow: [] };
    expect(describeUnreachable(['npm ci'], nothing)).toBe(
      'nothing is reachable from setup; allow it with [network] registries = ["npm"]',
    );
    expect(describeUnreachable(['npm ci', 'uv sync'], { registries: ['npm'], allow: [] })).toBe(
      'setup reaches only npm; allow it with [network] registries = ["npm", "pypi"]',
    );
  });

  it('is not guessed if the registry or any host is allowed', () => {
    expect(describeUnreachable(['npm ci'], { registries: ['npm'], allow: [] })).toBeUndefined();
    expect(describeUnreachable(['npm ci'], { registries: [], allow: ['packages.example.com:443'] })).toBeUndefined();
    expect(describeUnreachable(['make'], { registries: [], allow: [] })).toBeUndefined();
  });
});

test.each([
  'npm error code EAI_AGAIN',
  'curl: (6) Could not resolve host: example.com',
  'dial tcp: lookup proxy.example.org: no such host',
  "Temporary failure resolving 'deb.example.org'",
])('%s is a failed name lookup', (text) => expect(NETWORK_UNREACHABLE.test(text)).toBe(true));
