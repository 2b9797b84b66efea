import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { modelAt, openModelHalo, replaying, treeOf, type ModelHalo } from '../../support/halo/model-halo.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import type { Turn } from '../../support/model/model-server.ts';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-test-8d1f60b7c2');
});
afterAll(() => halo.close());

const OK = { json: { status: 'ok', summary: 'Did it.' } };
const TEST = `import test from 'node:test';
import assert from 'node:assert';
test('adds', async () => {
  const { sum } = await import('./sum.mjs');
  assert.equal(sum(1, 2), 3);
});
`;
const TURNS: Turn[] = [
  { write: 'sum.test.mjs', content: TEST, expect: ['Write tests only'] },
  OK,
  { write: 'sum.mjs', content: 'export const sum = (a, b) => a + b;\n', expect: ['Make them pass'] },
  OK,
];
const SETTINGS = [
  'agent=codex',
  'tests.first=on',
  `tests.command=${JSON.stringify('node --test --test-reporter=tap {files}')}`,
];

it('Codex writes the tests, then the code, and both are replayed from cassettes', async () => {
  const server = await halo.serve(TURNS);
  const repository = halo.newRepository();
  const settings = modelAt(server.url, [...SETTINGS, 'model.mode=record']);
  const recorded = await halo.run(repository.root, [{ id: 'hello' }], settings);
  expect(recorded).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { cases: ['adds'] } }] });
  expect(recorded.usage).toMatchObject({ requests: 4, inputTokens: 400, outputTokens: 40 });
  expect(repository.git('show', '--format=', '--name-only', `halo/${recorded.runId}`)).toBe('sum.mjs\nsum.test.mjs');
  expect(server.remaining()).toBe(0);
  await server.close();

  const again = await halo.operations.replay({ runId: recorded.runId, story: 'hello' });
  expect(again.divergence).toBeUndefined();
  expect(again.checks.filter(({ ok }) => ok === false)).toEqual([]);

  // A run from cassettes is in codex.flow.test.ts.
  if (LEVEL < FULL) return;
  const cassettes = halo.keepCassette(recorded);
  const artifacts = join(halo.home, 'runs', recorded.runId, 'artifacts/hello/1');
  copyFileSync(join(artifacts, 'tests/cassette.jsonl'), join(cassettes, 'hello.tests.jsonl'));
  const other = halo.newRepository();
  const replayed = await halo.run(other.root, [{ id: 'hello' }], replaying(cassettes, SETTINGS));
  expect(replayed).toMatchObject({ stopReason: 'SUCCESS' });
  expect(treeOf(other, replayed)).toBe(treeOf(repository, recorded));
});
