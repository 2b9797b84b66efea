import { expect, test } from 'vitest';
import { z } from 'zod';
import { toCamelCase, type CamelCase } from '../../src/config/camel-case.ts';
import { placeOf } from '../../src/config/keys.ts';
import { Duration, Size, VariableName } from '../../src/config/schema/values.ts';

const Table = z.strictObject({
  max_wait: Duration,
  file_size: Size.refine((bytes) => bytes > 1, 'must be more'),
  memory: Size.optional(),
  on_failure: z.string().optional(),
  by_name: z.record(z.string(), z.strictObject({ key_env: VariableName, max_age: Duration.optional() })),
  further_keys: z.array(z.strictObject({ key_env: VariableName })),
});

test('settings end with their unit, and names that users choose stay as they are', () => {
  const parsed = Table.parse({
    ...{ max_wait: '1m', file_size: '1k', on_failure: undefined },
    by_name: { my_model: { key_env: 'A_KEY', max_age: '1s' } },
    further_keys: [{ key_env: 'B_KEY' }],
  });
  // The types say the same.
  const expected: CamelCase<z.output<typeof Table>> = {
    ...{ maxWaitMs: 60_000, fileBytes: 1024 },
    byName: { my_model: { keyEnv: 'A_KEY', maxAgeMs: 1000 } },
    furtherKeys: [{ keyEnv: 'B_KEY' }],
  };
  expect(toCamelCase(Table, parsed)).toStrictEqual(expected);
});

test.each([
  ['limits.file_size', ['limits', 'fileBytes']],
  ['retry.gate.backoff', ['retry', 'gate', 'backoffMs']],
  ['budget.story_usd', ['budget', 'storyUsd']],
])('%s is at %j of a configuration', (key, place) => expect(placeOf(key)).toEqual(place));
