import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CLOSED_BREAKER } from '../../src/core/failure/breaker.ts';
import { openBreakerStore } from '../../src/store/breaker-files.ts';
import { test } from '../support/fixtures.ts';

const KEY = 'provider:api.example.com:443/../x';
const OPEN = { status: 'open' as const, signs: [], reason: 'why', until: 5 };

test('an unchanged breaker is closed, and reading it writes nothing', async ({ home }) => {
  const breakers = openBreakerStore(home);
  expect(await breakers.read(KEY)).toEqual(CLOSED_BREAKER);
  expect(await breakers.list()).toEqual([]);
  expect(await breakers.update(KEY, (breaker) => ({ breaker, result: 7 }))).toBe(7);
  expect(readdirSync(join(home, 'breakers'))).toEqual([]);
});

test('a change is visible to all readers under any key', async ({ home }) => {
  await openBreakerStore(home).update(KEY, () => ({ breaker: OPEN, result: undefined }));
  expect(await openBreakerStore(home).list()).toMatchObject([{ key: KEY, ...OPEN }]);
  expect(readdirSync(join(home, 'breakers'))).toHaveLength(1);
  expect(await openBreakerStore(home).reset(KEY)).toBe(true);
  expect(await openBreakerStore(home).reset(KEY)).toBe(false);
  expect(await openBreakerStore(home).list()).toEqual([]);
});

test('no change is lost when many are made concurrently', async ({ home }) => {
  const sign = (by: number) => ({ by: String(by), error: 'e', changed: true, denied: false, kind: 'gate' });
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      openBreakerStore(home).update(KEY, (breaker) => ({
        breaker: { ...breaker, signs: [...breaker.signs, sign(index)] },
        result: undefined,
      })),
    ),
  );
  expect((await openBreakerStore(home).read(KEY)).signs).toHaveLength(20);
});

test('a damaged file counts as a closed breaker', async ({ home }) => {
  await openBreakerStore(home).update(KEY, () => ({ breaker: OPEN, result: undefined }));
  const [file = ''] = readdirSync(join(home, 'breakers'));
  writeFileSync(join(home, 'breakers', file), '{"v":1,"signs":');
  expect(await openBreakerStore(home).read(KEY)).toEqual(CLOSED_BREAKER);
});
