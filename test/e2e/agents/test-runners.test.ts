import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
const { vitest } = (JSON.parse(manifest) as { devDependencies: { vitest: string } }).devDependencies;

interface Runner {
  name: string;
  registry: 'npm' | 'debian';
  /** The setup command. */
  install: string;
  /** With `{files}`. */
  command: string;
  /** Runs all tests. */
  gate: string;
  files: Record<string, string>;
  /** A test of another file, which passes. */
  passing: [path: string, text: string];
  test: [path: string, text: string];
  implementation: [path: string, text: string];
  /** What the log of the red run has. */
  reason: string;
}

const npmInstall = (name: string) => `npm install --no-save --no-package-lock --no-audit --no-fund ${name}`;
const manifestOf = (type: string) => JSON.stringify({ name: 'shop', private: true, type });
const VITEST = 'import { expect, test } from "vitest";\n';
const PASSING = 'test("adds", () => expect(1 + 2).toBe(3));\n';
const PYTEST = 'PYTHONPATH=.venv/usr/lib/python3/dist-packages python3 -m pytest -p no:cacheprovider -v';

const RUNNERS: Runner[] = [
  {
    name: 'vitest',
    registry: 'npm',
    install: npmInstall(`vitest@${vitest}`),
    command: 'npx vitest run --reporter=json {files}',
    gate: 'npx vitest run',
    files: { 'package.json': manifestOf('module') },
    // The path of the new test is a pattern for vitest, which this file matches as well.
    passing: ['checksum.test.js', `${VITEST}${PASSING}`],
    test: [
      'sum.test.js',
      `${VITEST}test("adds", async () => { const { sum } = await import("./sum.js"); expect(sum(1, 2)).toBe(3); });\n`,
    ],
    implementation: ['sum.js', 'export const sum = (a, b) => a + b;\n'],
    reason: 'Cannot find module',
  },
  {
    name: 'jest',
    registry: 'npm',
    install: npmInstall('jest@30.5.2'),
    command: 'npx jest --json --runTestsByPath {files}',
    gate: 'npx jest',
    files: { 'package.json': manifestOf('commonjs') },
    passing: ['checksum.test.js', PASSING],
    test: ['sum.test.js', 'test("adds", () => { expect(require("./sum.js").sum(1, 2)).toBe(3); });\n'],
    implementation: ['sum.js', 'exports.sum = (a, b) => a + b;\n'],
    reason: 'Cannot find module',
  },
  {
    name: 'pytest',
    registry: 'debian',
    install: [
      'apt-get update -q && cd /tmp',
      'apt-get download -q python3-pytest python3-attr python3-pluggy python3-iniconfig python3-packaging',
      'for package in *.deb; do dpkg -x "$package" /workspace/.venv; done',
    ].join(' && '),
    command: `${PYTEST} {files}`,
    gate: PYTEST,
    files: {},
    passing: ['test_checksum.py', 'def test_other():\n    assert 1 + 2 == 3\n'],
    test: ['test_sum.py', 'def test_adds():\n    from sums import add\n    assert add(1, 2) == 3\n'],
    implementation: ['sums.py', 'def add(a, b):\n    return a + b\n'],
    reason: "No module named 'sums'",
  },
];

/** Writes the test if it is asked for one, else the code. */
function agentOf({ test, implementation }: Runner): string {
  const write = ([path, text]: [string, string]) =>
    `echo ${Buffer.from(text).toString('base64')} | base64 -d > ${path}`;
  return `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then ${write(test)}; else ${write(implementation)}; fi; ${OK}`;
}

describe('a story begins with tests', () => {
  it.for(RUNNERS)('of $name, whose report names them by file', { timeout: 300_000 }, async (runner, { halo }) => {
    const { name, registry, install, command, gate, files, passing, test, reason } = runner;
    const ignored = 'node_modules\n.venv\n__pycache__\n';
    const repository = newRepository({ ...files, '.gitignore': ignored, [passing[0]]: passing[1] });
    const settings = scripted(
      agentOf(runner),
      [gate],
      [
        `setup=${JSON.stringify([install])}`,
        `network.registries=["${registry}"]`,
        'tests.first="on"',
        'tests.baseline="never"',
        `tests.command=${JSON.stringify(command)}`,
      ],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories landed');
    expect(state.stories[0]!.locked).toMatchObject({ files: [{ path: test[0] }] });
    expect(state.stories[0]!.locked!.cases).toHaveLength(1);
    const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/red/1.log`);
    expect(log).toContain(reason);
    expect(log.includes(passing[0])).toBe(name === 'vitest');
  });
});
