import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CLOSED } from '../../src/core/failure/breaker.ts';
import { openBreakers } from '../../src/store/breaker-files.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halo-breakers-'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const KEY = 'provider:api.example.com:443/../x';
const OPEN = { status: 'open' as const, signs: [], reason: 'why', until: 5 };

test('a breaker that nobody has changed is closed, and asking for it writes nothing', async () => {
  const breakers = openBreakers(home);
  expect(await breakers.read(KEY)).toEqual(CLOSED);
  expect(await breakers.list()).toEqual([]);
  expect(await breakers.update(KEY, (breaker) => ({ breaker, result: 7 }))).toBe(7);
  expect(readdirSync(join(home, 'breakers'))).toEqual([]);
});

test('a change is seen by all, under its key and whatever is in that', async () => {
  await openBreakers(home).update(KEY, () => ({ breaker: OPEN, result: undefined }));
  expect(await openBreakers(home).list()).toMatchObject([{ key: KEY, ...OPEN }]);
  expect(readdirSync(join(home, 'breakers'))).toHaveLength(1);
  expect(await openBreakers(home).reset(KEY)).toBe(true);
  expect(await openBreakers(home).reset(KEY)).toBe(false);
  expect(await openBreakers(home).list()).toEqual([]);
});

test('no change is lost when many come at once', async () => {
  const sign = (by: number) => ({ by: String(by), error: 'e', changed: true, denied: false });
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      openBreakers(home).update(KEY, (breaker) => ({
        breaker: { ...breaker, signs: [...breaker.signs, sign(index)] },
        result: undefined,
      })),
    ),
  );
  expect((await openBreakers(home).read(KEY)).signs).toHaveLength(20);
});

test('a damaged file is as good as none', async () => {
  await openBreakers(home).update(KEY, () => ({ breaker: OPEN, result: undefined }));
  const [file = ''] = readdirSync(join(home, 'breakers'));
  writeFileSync(join(home, 'breakers', file), '{"v":1,"signs":');
  expect(await openBreakers(home).read(KEY)).toEqual(CLOSED);
});
