import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { gateResultsKey, GateResultFiles, type GateResults } from '../../../src/worker/attempt/gate-results.ts';
import { it } from '../../support/fixtures.ts';
import { BASE, COMMIT } from '../../support/journal.ts';

const configOf = (...set: string[]) => resolveConfig({ cwd: '/', set: ['gates=["npm test"]', ...set] }).config;
const AT = { mirror: 'shop-1', commit: BASE, image: 'sha256:1' };
const keyOf = (...set: string[]) => gateResultsKey(configOf(...set), AT);

describe('the key of cached gate results', () => {
  it.for<[string]>([
    ['gates=["make"]'],
    ['setup=["npm ci"]'],
    ['env={ CI = "1" }'],
    ['tests.reports=["junit.xml"]'],
    ['network.allow=["example.com:443"]'],
    ['network.registries=["npm"]'],
    ['network.registry_hosts=["cdn.example.com:443"]'],
    ['network.git=["https://example.com/libs/"]'],
    ['network.upstreams.npm="https://npm.example.com/"'],
    [`network.ca_file="${import.meta.filename}"`],
    ['limits.memory="1GB"'],
    ['limits.pids=64'],
    ['sandbox.runtime="runsc"'],
    ['snapshot.inputs=["package.json"]'],
  ])('depends on %s', ([setting]) => expect(keyOf(setting)).not.toBe(keyOf()));

  it.for<[string]>([['retry.attempts=9'], ['agent="claude"'], ['run.parallel=3'], ['tests.baseline="always"']])(
    'does not depend on %s',
    ([setting]) => expect(keyOf(setting)).toBe(keyOf()),
  );

  it.for<[keyof typeof AT, string]>([
    ['mirror', 'shop-2'],
    ['commit', COMMIT],
    ['image', 'sha256:2'],
  ])('depends on the %s', ([fact, value]) =>
    expect(gateResultsKey(configOf(), { ...AT, [fact]: value })).not.toBe(keyOf()),
  );
});

describe('cached gate results', () => {
  const results: GateResults = {
    ...{ v: 1, setupFailed: false, gates: [{ command: 'npm test', exitCode: 0 }] },
    tests: [{ name: 'adds', skipped: false, asserts: 1 }],
  };
  const files = (home: string) => new GateResultFiles(home, configOf(), AT);

  it('are those of a commit', async ({ home }) => {
    expect(await files(home).read(BASE)).toBeUndefined();
    await files(home).save(BASE, results);
    expect(await files(home).read(BASE)).toEqual(results);
    expect(await files(home).read(COMMIT)).toBeUndefined();
  });

  it.for<[string, GateResults['tests'], boolean]>([
    ['no tests', null, true],
    ['tests', [], false],
  ])('say of any commit whether its gates report tests: %s', async ([, tests, noTests], { home }) => {
    expect(await files(home).lastReportedNoTests()).toBe(false);
    await files(home).save(BASE, { ...results, tests });
    expect(await files(home).lastReportedNoTests()).toBe(noTests);
  });

  it.for(['', '\0\0\0', '{"v":1', '{}', 'null', '{"v":2,"setupFailed":false,"gates":[],"tests":[]}'])(
    'count as unknown in a damaged file: %j',
    async (text, { home }) => {
      await files(home).save(BASE, results);
      const folder = join(home, 'repos/shop-1/evidence');
      for (const name of readdirSync(folder)) writeFileSync(join(folder, name), text);
      expect(await files(home).read(BASE)).toBeUndefined();
      expect(await files(home).lastReportedNoTests()).toBe(false);
    },
  );
});
