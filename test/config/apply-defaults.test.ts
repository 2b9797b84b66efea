import { expect, test } from 'vitest';
import { applyDefaults } from '../../src/config/apply-defaults.ts';
import { resolveConfig } from '../../src/config/resolve.ts';

const current = resolveConfig({
  set: ['model.key_file=/key', 'limits.pids=99', 'prices={"gpt-5.5"={input=1,output=2}}'],
  cwd: '/',
}).config;

test('the stored configuration stays unchanged', () => {
  const stored = JSON.parse(JSON.stringify(current)) as unknown;
  expect(applyDefaults(stored)).toEqual(current);
});

test.each(keysOf(current))('a configuration without %s gets the default there, and nothing else is changed', (key) => {
  const stored = JSON.parse(JSON.stringify(current)) as Record<string, unknown>;
  const [table, member] = key.split('.') as [string, string | undefined];
  if (member === undefined) delete stored[table];
  else delete (stored[table] as Record<string, unknown>)[member];
  const completed = applyDefaults(stored);
  expect(keysOf(completed)).toEqual(
    expect.arrayContaining(keysOf(current).filter((each) => !each.startsWith('model.'))),
  );
  expect(completed).toMatchObject(stored);
});

/** Of the tables and their members that JSON can hold, but for those that every halo wrote. */
function keysOf(config: object): string[] {
  return Object.entries(JSON.parse(JSON.stringify(config)) as object).flatMap(([key, value]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    const members = Object.keys(value as object).map((member) => `${key}.${member}`);
    return ['model', 'prices', 'env'].includes(key)
      ? members.filter((name) => /allow|timing/.test(name))
      : [key, ...members];
  });
}
