import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resetBreaker, type BreakerKeeper } from '../../src/api/runs/breakers.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openBreakers } from '../../src/store/breaker-files.ts';
import { openStore } from '../../src/store/store.ts';

let home: string;
let keeper: BreakerKeeper;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halo-home-'));
  keeper = { store: openStore(home, { transcribe }), breakers: openBreakers(home) };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function open(...keys: string[]): Promise<void> {
  const breaker = { status: 'open' as const, signs: [], reason: 'why', until: 5 };
  for (const key of keys) await keeper.breakers.update(key, () => ({ breaker, result: undefined }));
}

test('an open breaker is closed by the name or path of its repository', async () => {
  for (const name of ['my-shop', 'My_Shop', '/home/me/My_Shop']) {
    await open('repository:my-shop-0123abcd', 'repository:other-0123abcd');
    expect(await resetBreaker(keeper, name)).toBe('repository:my-shop-0123abcd');
    expect(await keeper.breakers.list()).toMatchObject([{ key: 'repository:other-0123abcd' }]);
  }
});

test('a name that several repositories have is refused with their keys, each of which is accepted', async () => {
  const keys = ['repository:shop-0123abcd', 'repository:shop-99999999'];
  await open(...keys);
  await expect(resetBreaker(keeper, 'shop')).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('repository:shop-0123abcd') as string,
  });
  for (const key of keys) expect(await resetBreaker(keeper, key)).toBe(key);
});

test('what is no open breaker is looked for among the runs', async () => {
  await expect(resetBreaker(keeper, 'shop')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});
