import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
const { vitest } = (JSON.parse(manifest) as { devDependencies: { vitest: string } }).devDependencies;

const TEST = `import { expect, test } from "vitest";
test("adds", async () => { const { sum } = await import("./sum.js"); expect(sum(1, 2)).toBe(3); });
`;
const OTHER = `import { expect, test } from "vitest";
test("adds", () => expect(1 + 2).toBe(3));
`;
/** Writes the test if it is asked for one, else the code. */
const AGENT = `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then printf '${TEST.replaceAll('\n', '\\n')}' > sum.test.js; else echo 'export const sum = (a, b) => a + b;' > sum.js; fi; ${OK}`;

it('a story begins with tests of vitest, whose report names them by file', { timeout: 300_000 }, async ({ halo }) => {
  const repository = newRepository({
    'package.json': '{"name": "shop", "private": true, "type": "module"}',
    '.gitignore': 'node_modules\n',
    // The path of the new test is a pattern for vitest, which this file matches as well.
    'checksum.test.js': OTHER,
  });
  const settings = scripted(
    AGENT,
    ['npx vitest run'],
    [
      `setup=["npm install --no-save --no-package-lock --no-audit --no-fund vitest@${vitest}"]`,
      'network.registries=["npm"]',
      'tests.first="on"',
      'tests.baseline="never"',
      'tests.command="npx vitest run --reporter=json {files}"',
    ],
  );
  const state = await halo.run(repository.root, [{ id: 'A' }], settings);
  expect(state.detail).toBe('1 of 1 stories landed');
  expect(state.stories[0]!.locked).toMatchObject({ files: [{ path: 'sum.test.js' }], cases: ['adds'] });
  const folder = `artifacts/${state.stories[0]!.key}/1`;
  expect(halo.readFile(state.runId, `${folder}/red/1.log`)).toContain('Cannot find module');
  expect(halo.readFile(state.runId, `${folder}/red/1.log`)).toContain('checksum.test.js');
});
