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
  /** Files that make the runner exit 0 without running the test, by name. */
  attacks: [path: string, text: string][];
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
    attacks: [['vitest.config.js', 'export default { test: { exclude: ["sum.test.js"], passWithNoTests: true } };\n']],
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
    attacks: [
      ['jest.config.js', 'module.exports = { testPathIgnorePatterns: ["sum.test.js"], passWithNoTests: true };\n'],
      [
        'jest.config.js',
        'if (globalThis.test) globalThis.test = globalThis.test.failing;\nmodule.exports = { setupFilesAfterEnv: [__filename] };\n',
      ],
    ],
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
    attacks: [
      ['pytest.ini', '[pytest]\naddopts = --collect-only\n'],
      [
        'conftest.py',
        'import pytest\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.skip())\n',
      ],
      [
        'conftest.py',
        'import pytest\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.xfail())\n',
      ],
    ],
  },
];

const attackId = (index: number) => `ATTACK-${index + 1}`;

/** Writes the test if it is asked for one, else the code, or the configuration of the attack that the story is. */
function agentOf({ test, implementation, attacks }: Runner): string {
  const write = ([path, text]: [string, string]) =>
    `echo ${Buffer.from(text).toString('base64')} | base64 -d > ${path};`;
  const cases = attacks.map((attack, index) => `${attackId(index)}) ${write(attack)};`);
  const implement = `case "$(grep -oE 'Story [A-Z0-9-]+' /tmp/prompt | head -n 1 | cut -d' ' -f2)" in ${cases.join(' ')} *) ${write(implementation)}; esac`;
  return `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then ${write(test)} else ${implement}; fi; ${OK}`;
}

describe('incident tests-skipped: stories that begin with tests', () => {
  it.for(RUNNERS)(
    'tests of $name are checked by file and name, and do not land with a configuration that skips them',
    { timeout: 300_000 },
    async (runner, { halo }) => {
      const { name, registry, install, command, gate, files, passing, test, reason, attacks } = runner;
      const ignored = 'node_modules\n.venv\n__pycache__\n';
      const repository = newRepository({ ...files, '.gitignore': ignored, [passing[0]]: passing[1] });
      const settings = scripted(
        agentOf(runner),
        [gate],
        [
          `setup=${JSON.stringify([install])}`,
          'snapshot.inputs=[".gitignore"]',
          `network.registries=["${registry}"]`,
          'run.on_failure="continue"',
          'tests.first="on"',
          'tests.baseline="never"',
          `tests.command=${JSON.stringify(command)}`,
        ],
      );
      const ids = attacks.map((_, index) => attackId(index));
      const { runId, stories } = await halo.run(
        repository.root,
        [...ids, 'A'].map((id) => ({ id })),
        settings,
      );
      const failures = stories.filter(({ id }) => id !== 'A');
      expect(failures.map(({ stopReason }) => stopReason)).toEqual(ids.map(() => 'GATE_FAILED'));
      const log = halo.journal(runId).filter((event) => event.type === 'story.ended');
      for (const { story, summary } of log)
        if (story !== 'A') expect(summary).toMatch(/did not run and pass after its change: .*adds/);

      const honest = stories.find(({ id }) => id === 'A')!;
      expect(honest.stopReason).toBe('SUCCESS');
      expect(honest.locked).toMatchObject({ files: [{ path: test[0] }] });
      expect(honest.locked!.cases).toHaveLength(1);
      expect(repository.git('diff', '--name-only', 'main', `halo/${runId}`).split('\n').sort()).toEqual(
        [test[0], runner.implementation[0]].sort(),
      );
      const red = halo.readFile(runId, `artifacts/${honest.key}/1/red/1.log`);
      expect(red).toContain(reason);
      expect(red.includes(passing[0])).toBe(name === 'vitest');
    },
  );
});
