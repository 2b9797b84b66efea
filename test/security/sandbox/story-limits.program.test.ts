import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diffCommits } from '../../../src/git/commit/read-commits.ts';
import { run } from '../../support/repository/git-fixture.ts';
import { blob, importFrom, makeWorkshop, rawTree, treeWith, type Entry } from '../../git/import/import-fixture.ts';

describe('incident story-limits: a change that exceeds halo’s limits', () => {
  it('does not fail because of the size of its patch, which is truncated with a note in its first line', async () => {
    const shop = await makeWorkshop();
    const lines = Array.from({ length: 80_000 }, (_, index) => `${index} ${'x'.repeat(55)}\n`).join('');
    const files = [...'abcdefg'].map((name) => ({ mode: '100644', name, id: blob(shop, `${lines}${name}`) }));
    const to = run(shop.agent, ['commit-tree', '-p', shop.base, '-m', 'x', treeWith(shop, files)]);
    const patch = await diffCommits({ gitDir: join(shop.agent, '.git'), from: shop.base, to });
    expect(patch.length).toBeLessThan(33 * 1024 * 1024);
    const text = patch.toString();
    expect(text.slice(0, 400)).toMatch(
      /^halo: this patch is cut off, .*: git diff [0-9a-f]{40} [0-9a-f]{40}\ndiff --git a\/a b\/a\n/,
    );
    expect(text.endsWith('\n')).toBe(true);
  });

  it('is refused for more or deeper folders than the limit', async () => {
    const shop = await makeWorkshop();
    const folder = (name: string, ...entries: Entry[]): Entry => ({ mode: '40000', name, id: rawTree(shop, entries) });
    const chain = (depth: number): Entry =>
      folder('d', depth === 0 ? { mode: '100644', name: 'x', id: blob(shop, 'x') } : chain(depth - 1));
    const refused = (rule: RegExp) => ({ code: 'POLICY_VIOLATION', message: expect.stringMatching(rule) as string });
    await expect(importFrom(shop, treeWith(shop, [chain(70)]))).rejects.toMatchObject(refused(/names deep/));
    const { id } = chain(50);
    const wide = Array.from({ length: 500 }, (_, index) => ({ mode: '40000', name: `w${index + 100}`, id }));
    await expect(importFrom(shop, treeWith(shop, wide))).rejects.toMatchObject(refused(/more than 20000 folders/));
  });
});
