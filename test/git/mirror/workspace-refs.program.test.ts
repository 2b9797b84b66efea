import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addRefsToView, REFS_FILE } from '../../../src/git/mirror/workspace-refs.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

test.for([
  ['zeros', (text: string) => '\0'.repeat(text.length)],
  ['nothing', () => ''],
  ['its first half', (text: string) => text.slice(0, text.length / 2)],
] as const)('tags that are kept for a run are read again if the file has %s', async ([, damage]) => {
  const home = tempDir();
  const root = join(home, 'shop');
  const commit = makeRepo(root);
  run(root, ['tag', 'v1.0.0']);
  const addTo = async (name: string): Promise<string> => {
    const view = join(home, name);
    mkdirSync(join(view, 'objects', 'pack'), { recursive: true });
    await addRefsToView(view, join(home, 'mirror.git'), { from: join(root, '.git'), commit, run: 'a-run' });
    return readFileSync(join(view, REFS_FILE), 'utf8');
  };
  const first = await addTo('first');
  expect(first).toContain(`${commit} refs/tags/v1.0.0\n`);
  const kept = join(home, 'refs', 'a-run', REFS_FILE);
  writeFileSync(kept, damage(first));
  expect(await addTo('second')).toBe(first);
  expect(readFileSync(kept, 'utf8')).toBe(first);
  expect(readdirSync(join(home, 'refs'))).toEqual(['a-run']);
});
