import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findProtected, guardGlobs, namesOf, readLinks } from '../../../src/git/protect/protected-paths.ts';
import { commitFiles, makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('a path has the names by which links of the commit lead to it, over several links and in cycles', async () => {
  const root = tempDir();
  makeRepo(root, { 'docs/ai/rules.md': '', 'src/ä b.ts': '' });
  symlinkSync('docs/ai/rules.md', join(root, 'AGENTS.md'));
  symlinkSync('./docs/ai/', join(root, '.cursor'));
  symlinkSync('../.cursor', join(root, 'src/chain'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('../outside', join(root, 'out'));
  const links = await readLinks(join(root, '.git'), commitFiles(root, {}, 'links'));
  expect(namesOf('docs/ai/rules.md', links).sort()).toEqual([
    ...['.cursor/rules.md', 'AGENTS.md', 'docs/ai/rules.md', 'src/chain/rules.md'],
  ]);
  expect(namesOf('docs/ai', links).sort()).toEqual(['.cursor', 'docs/ai', 'src/chain']);
  expect(namesOf('src/ä b.ts', links)).toEqual(['src/ä b.ts']);
  expect(namesOf('loop', links)).toEqual(['loop']);
  expect(namesOf('outside/x', links)).toEqual(['outside/x']);
});

it('a guarded path is protected as a whole, including files in the place of its folders', async () => {
  const held = (paths: string[], guarded: string[]) => findProtected(paths, ['!**', ...guardGlobs(guarded)]);
  const paths = [
    'tools',
    'tools/hooks',
    'tools/hooks/a/b',
    'tools/hooks2',
    'tools/x',
    'Tools/HOOKS/c',
    'x/tools/hooks',
  ];
  const wanted = ['tools', 'tools/hooks', 'tools/hooks/a/b', 'Tools/HOOKS/c'];
  expect(await held(paths, ['tools/hooks'])).toEqual(wanted);
  const odd = '!a/{b,*}/**/c?';
  expect(await held([odd, 'b/c'], [odd])).toEqual([odd]);
});
