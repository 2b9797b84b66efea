import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { findGuarded } from '../../../src/api/submit/guarded-paths.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TEXT = '{"userStories":[]}';
const prd = (path: string, text = TEXT) => ({ path, bytes: new TextEncoder().encode(text) });

it('guards the PRD of a run at its path, at link targets, and at copies with the same bytes', async () => {
  const home = tempDir();
  const root = join(home, 'shop');
  const commit = makeRepo(root, { 'plans/next.json': TEXT, 'docs/copy.json': TEXT, 'prd.json': '{}' });
  symlinkSync(root, join(home, 'link'));
  const { config } = resolveConfig({ cwd: root });
  const at = { root, gitDir: join(root, '.git'), commit, config, remote: false };
  const paths = async (query: Parameters<typeof findGuarded>[0]) =>
    (await findGuarded(query)).map(({ path }) => path).sort();
  expect(await paths({ ...at, prd: prd(join(root, 'prd.json')) })).toEqual(['prd.json']);
  expect(await paths({ ...at, prd: prd(join(home, 'link/plans/next.json')) })).toEqual(['plans/next.json']);
  const away = prd('/home/ada/shop/plans/next.json');
  expect(await paths({ ...at, prd: away })).toEqual(['docs/copy.json', 'plans/next.json']);
  expect(await paths({ ...at, root: undefined, remote: true, prd: away })).toEqual([
    'docs/copy.json',
    'plans/next.json',
  ]);
  expect(await paths({ ...at, prd: prd('-', 'other') })).toEqual([]);
  run(root, ['config', 'core.hooksPath', 'tools/hooks']);
  expect(await findGuarded({ ...at, prd: prd('-', 'other') })).toEqual([
    { path: 'tools/hooks', setting: 'core.hookspath' },
  ]);
  const own = resolveConfig({
    cwd: root,
    set: ['git.allowed_signers=ci/signers', 'model.key_command=./key.sh'],
  }).config;
  expect(await findGuarded({ ...at, config: own, prd: prd('-', 'other') })).toMatchObject([
    { path: 'ci/signers', setting: 'git.allowed_signers' },
    { path: 'tools/hooks', setting: 'core.hookspath' },
  ]);
});
