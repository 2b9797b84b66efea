import { expect } from 'vitest';
import { resetBreaker, type BreakerKeeper } from '../../../src/api/runs/breakers.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openBreakerStore } from '../../../src/store/breaker-files.ts';
import { openStore } from '../../../src/store/store.ts';
import { test as base } from '../../support/fixtures.ts';

const test = base.extend('keeper', ({ home }) => ({
  store: openStore(home, { transcribe }),
  breakers: openBreakerStore(home),
}));

async function open(keeper: BreakerKeeper, ...keys: string[]): Promise<void> {
  const breaker = { status: 'open' as const, signs: [], reason: 'why', until: 5 };
  for (const key of keys) await keeper.breakers.update(key, () => ({ breaker, result: undefined }));
}

test('an open breaker is reset by the name or path of its repository', async ({ keeper }) => {
  for (const name of ['my-shop', 'My_Shop', '/home/me/My_Shop']) {
    await open(
      keeper,
      'repository:my-shop-0123abcd0123abcd0123abcd0123abcd',
      'repository:other-0123abcd0123abcd0123abcd0123abcd',
    );
    expect(await resetBreaker(keeper, name)).toBe('repository:my-shop-0123abcd0123abcd0123abcd0123abcd');
    expect(await keeper.breakers.list()).toMatchObject([{ key: 'repository:other-0123abcd0123abcd0123abcd0123abcd' }]);
  }
});

test('a name of several repositories is refused with their keys, and each key is accepted', async ({ keeper }) => {
  const keys = ['repository:shop-0123abcd0123abcd0123abcd0123abcd', 'repository:shop-99999999999999999999999999999999'];
  await open(keeper, ...keys);
  await expect(resetBreaker(keeper, 'shop')).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('repository:shop-0123abcd0123abcd0123abcd0123abcd') as string,
  });
  for (const key of keys) expect(await resetBreaker(keeper, key)).toBe(key);
});

test('a name without an open breaker is looked up among the runs', async ({ keeper }) => {
  await expect(resetBreaker(keeper, 'shop')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});
