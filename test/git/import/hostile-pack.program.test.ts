import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  blob,
  importFrom,
  makeWorkshop,
  packOf,
  rawTree,
  treeWith,
  type Entry,
  type Workshop,
} from './import-fixture.ts';
import { writeObject } from '../../support/repository/git-fixture.ts';

/** Everything below the home of a workshop but the scratch folder and the agent's own repository. */
function outside({ home, scratchDir, agent }: Workshop): string[] {
  const inside = (path: string) => path.startsWith(scratchDir) || path.startsWith(agent);
  const entries = readdirSync(home, { recursive: true, withFileTypes: true });
  return entries.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !inside(path));
}

async function expectRefused(shop: Workshop, tree: string, why: RegExp): Promise<void> {
  const before = outside(shop);
  const pack = packOf(shop, tree);
  const message = expect.stringMatching(why) as string;
  await expect(importFrom(shop, tree, { pack })).rejects.toMatchObject({ code: 'POLICY_VIOLATION', message });
  expect(outside(shop)).toEqual(before);
}

describe('hazard 28: a hostile pack', () => {
  const file = (shop: Workshop, name: string, mode = '100644'): Entry => ({ mode, name, id: blob(shop, 'x') });
  const folder = (shop: Workshop, name: string, ...entries: Entry[]): Entry => ({
    mode: '40000',
    name,
    id: rawTree(shop, entries),
  });

  it.each(['../escaped', '/tmp/escaped', 'src/../../escaped', '../m-sibling/escaped', '.git/hooks/post-checkout'])(
    'cannot name a file %s in one entry',
    async (name) => {
      const shop = await makeWorkshop();
      await expectRefused(shop, treeWith(shop, [file(shop, name)]), /pack|tree|path/);
    },
  );

  it.each(['..', '.git'])('cannot escape by a folder %s', async (name) => {
    const shop = await makeWorkshop();
    await expectRefused(shop, treeWith(shop, [folder(shop, name, file(shop, 'hooks'))]), /pack|tree|path/);
  });

  it('cannot write through a link that it contains', async () => {
    const shop = await makeWorkshop();
    const link = { mode: '120000', name: 'out', id: blob(shop, 'src') };
    const through = folder(shop, 'out', file(shop, 'escaped'));
    await expectRefused(shop, treeWith(shop, [link, through]), /pack|tree|twice/);
  });

  it.each(['020644', '060644', '010644', '140644', '100666'])(
    'contains no device, pipe, socket or mode %s',
    async (mode) => {
      const shop = await makeWorkshop();
      await expectRefused(shop, treeWith(shop, [file(shop, 'dev', mode)]), /pack|tree|mode|submodules/);
    },
  );

  it('a hostile pack with ten times as many files as allowed stops at the limit', async () => {
    const shop = await makeWorkshop();
    const id = Buffer.from(blob(shop, 'x'), 'hex');
    const entry = (index: number) => Buffer.concat([Buffer.from(`100644 f${String(index).padStart(6, '0')}\0`), id]);
    const bytes = Buffer.concat(Array.from({ length: 100_000 }, (_, index) => entry(index)));
    const tree = writeObject(shop.agent, 'tree', bytes);
    await expectRefused(shop, tree, /more than 10000 files/);
  });

  it('is stopped at the maximum file size when it unpacks to a thousand times its size', async () => {
    const shop = await makeWorkshop();
    const zeros = { mode: '100644', name: 'zeros', id: blob(shop, Buffer.alloc(110 * 1024 * 1024)) };
    await expectRefused(shop, treeWith(shop, [zeros]), /"zeros".*larger than|size/);
  });
});
