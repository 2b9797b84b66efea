import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
const { vitest } = (JSON.parse(manifest) as { devDependencies: { vitest: string } }).devDependencies;

interface Runner {
  name: string;
  packages: string[];
  command: string;
  /** The start of a test file. */
  head: string;
  load: string;
  implementation: string;
  type: 'module' | 'commonjs';
}

const RUNNERS: Runner[] = [
  {
    name: 'vitest',
    packages: [`vitest@${vitest}`],
    command: 'npx vitest run --reporter=json {files}',
    head: 'import { expect, test } from "vitest";\n',
    load: 'await import("./sum.js")',
    implementation: 'export const sum = (a, b) => a + b;',
    type: 'module',
  },
  {
    name: 'jest',
    packages: ['jest@30.5.2'],
    command: 'npx jest --json --runTestsByPath {files}',
    head: '',
    load: 'require("./sum.js")',
    implementation: 'exports.sum = (a, b) => a + b;',
    type: 'commonjs',
  },
];

const other = (head: string) => `${head}test("adds", () => expect(1 + 2).toBe(3));\n`;

/** Writes the test if it is asked for one, else the code. */
function agentOf({ head, load, implementation }: Runner): string {
  const text = `${head}test("adds", async () => { const { sum } = ${load}; expect(sum(1, 2)).toBe(3); });\n`;
  const test = text.replaceAll('\n', '\\n');
  return `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then printf '${test}' > sum.test.js; else echo '${implementation}' > sum.js; fi; ${OK}`;
}

describe('a story begins with tests', () => {
  it.for(RUNNERS)('of $name, whose report names them by file', { timeout: 300_000 }, async (runner, { halo }) => {
    const { name, packages, command, head, type } = runner;
    const repository = newRepository({
      'package.json': JSON.stringify({ name: 'shop', private: true, type }),
      '.gitignore': 'node_modules\n',
      // The path of the new test is a pattern for vitest, which this file matches as well.
      'checksum.test.js': other(head),
    });
    const install = `npm install --no-save --no-package-lock --no-audit --no-fund ${packages.join(' ')}`;
    const settings = scripted(
      agentOf(runner),
      [`npx ${name === 'vitest' ? 'vitest run' : 'jest'}`],
      [
        `setup=${JSON.stringify([install])}`,
        'network.registries=["npm"]',
        'tests.first="on"',
        'tests.baseline="never"',
        `tests.command=${JSON.stringify(command)}`,
      ],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories landed');
    expect(state.stories[0]!.locked).toMatchObject({ files: [{ path: 'sum.test.js' }], cases: ['adds'] });
    const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/red/1.log`);
    expect(log).toContain('Cannot find module');
    expect(log.includes('checksum.test.js')).toBe(name === 'vitest');
  });
});
