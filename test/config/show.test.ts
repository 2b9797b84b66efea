import { expect, test } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { filterSettings, formatConfig, formatConfigJson } from '../../src/config/output/format-config.ts';

const resolved = resolveConfig({
  repo: parseConfigFile('/repo/halo.toml', 'gates = ["npm test"]\n[env]\nTZ = "UTC"'),
  env: { HALO_LIMITS_MEMORY: '2g' },
  cwd: '/',
});

test('each key is shown in columns with its value as written and its origin', () => {
  const lines = formatConfig(resolved.settings).trimEnd().split('\n');
  const cells = lines.map((line) => line.trim().split(/ {2,}/));
  expect(cells).toContainEqual(['gates', '[ "npm test" ]', '/repo/halo.toml:1']);
  expect(cells).toContainEqual(['env.TZ', '"UTC"', '/repo/halo.toml:3']);
  expect(cells).toContainEqual(['limits.memory', '"2g"', 'HALO_LIMITS_MEMORY']);
  expect(cells).toContainEqual(['limits.cpus', '2', 'default']);
  expect(cells).toContainEqual(['model.cassettes', '(not set)', 'default']);
  expect(new Set(lines.map((line) => line.search(/ (default|\/repo|HALO)/))).size).toBe(1);
});

test('JSON contains value and origin of each key', () => {
  const json = formatConfigJson(resolved.settings);
  expect(json['limits.memory']).toEqual({ value: '2g', origin: 'HALO_LIMITS_MEMORY' });
  expect(json['model.cassettes']).toEqual({ value: null, origin: 'default' });
  expect(json.setup).toEqual({ value: [], origin: 'default' });
});

test('one key, one table, or non-default values are selected', () => {
  const names = (...how: Parameters<typeof filterSettings>[1][]) =>
    how.map((each) => filterSettings(resolved.settings, each).map(({ key }) => key));
  expect(names({ changed: true })[0]?.sort()).toEqual(['env.TZ', 'gates', 'limits.memory']);
  expect(names({ name: 'limits.memory' }, { name: 'env' })).toEqual([['limits.memory'], ['env.TZ']]);
  expect(names({ name: 'limits' })[0]).toContain('limits.cpus');
  expect(() => names({ name: 'limit' })).toThrow('limit: unknown key; did you mean "limits"?');
});

test('a long value is truncated unless it is shown alone', () => {
  const run = 'echo a line of a script\n'.repeat(40);
  const set = ['agent=command', `agents.command.run=${JSON.stringify(run)}`];
  const { settings } = resolveConfig({ env: {}, cwd: '/', set });
  const lines = formatConfig(filterSettings(settings, { changed: true })).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(220);
  expect(formatConfig(filterSettings(settings, { name: 'agents.command.run' })).length).toBeGreaterThan(run.length);
});
