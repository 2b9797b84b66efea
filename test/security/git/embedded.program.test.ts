import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environmentFor } from '../../../src/git/process/environment.ts';
import { mergeOnto } from '../../../src/git/land/merge-commits.ts';
import { inspectRepo, listChanges } from '../../../src/git/repository/inspect-repo.ts';
import { candidatePath } from '../../../src/git/repository/scratch-repo.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import {
  blob,
  importFrom,
  makeWorkshop,
  rawTree,
  resetAgent,
  snapshot,
  treeWith,
  type Workshop,
} from '../../git/import/import-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A bare repository as plain files, whose settings start a program; `lines` go into its `[core]`. */
function embedded(folder: string, wire: string, lines: string[] = []): Record<string, string> {
  const config = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch '${wire}'"\n${lines.map((line) => `\t${line}\n`).join('')}[filter "x"]\n\tclean = "touch '${wire}'"\n`;
  return {
    [`${folder}/HEAD`]: 'ref: refs/heads/main\n',
    [`${folder}/config`]: config,
    [`${folder}/info/attributes`]: '* filter=x\n',
    [`${folder}/objects/.keep`]: '',
    [`${folder}/refs/.keep`]: '',
  };
}

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const refused = (message: RegExp) => ({
  code: 'POLICY_VIOLATION',
  message: expect.stringMatching(message) as string,
});

describe('incident embedded-repository: files that git treats as a repository', () => {
  const wire = '/nonexistent/wire';
  const whole = embedded('docs', wire);
  const without = (...paths: string[]) =>
    Object.fromEntries(Object.entries(whole).filter(([path]) => !paths.some((each) => path.startsWith(each))));
  const renamed = (change: (path: string) => string) =>
    Object.fromEntries(Object.entries(whole).map(([path, text]) => [change(path), text]));

  let shared: Workshop | undefined;
  /** The agent's files are as in the base again. */
  async function fresh(): Promise<Workshop> {
    shared ??= await makeWorkshop();
    resetAgent(shared);
    return shared;
  }

  it.each<[string, Record<string, string>]>([
    ['as they are', whole],
    ['at the top', renamed((path) => path.replace('docs/', ''))],
    ['deep below', renamed((path) => `a/b/c/${path}`)],
    ['in other letters', renamed((path) => path.replace('HEAD', 'head').replace('objects', 'OBJECTS'))],
    ['in letters that a file system folds', renamed((path) => path.replace('refs', 'ＲＥＦＳ'))],
    ['as long as an empty folder is missing', without('docs/refs')],
    ['without settings, which a later story brings', without('docs/config', 'docs/info')],
    ['as a worktree of another one', { 'docs/HEAD': 'ref: refs/heads/main\n', 'docs/commondir': '../lib\n' }],
    ['by an executable file in the place of a folder', { ...without('docs/refs'), 'docs/refs': 'x' }],
  ])('are refused %s', async (_how, files) => {
    const shop = await fresh();
    await expect(importFrom(shop, snapshot(shop, files))).rejects.toMatchObject(refused(/repository/));
  });

  it('are refused with links as parts', async () => {
    const shop = await fresh();
    const link = (name: string) => ({ mode: '120000', name, id: blob(shop, '../src') });
    const head = { mode: '120000', name: 'HEAD', id: blob(shop, 'refs/heads/main') };
    const folder = rawTree(shop, [head, link('objects'), link('refs')]);
    const tree = treeWith(shop, [{ mode: '40000', name: 'docs', id: folder }]);
    await expect(importFrom(shop, tree)).rejects.toMatchObject(refused(/"docs".*repository/));
  });

  it('are refused if a story completes those of the base, or configures an existing one', async () => {
    const part = await makeWorkshop(without('docs/objects', 'docs/config'));
    await expect(importFrom(part, snapshot(part, { 'docs/objects/x': '' }))).rejects.toMatchObject(refused(/"docs"/));
    const own = await makeWorkshop(whole);
    const refusal = refused(/changes how git behaves/);
    await expect(importFrom(own, snapshot(own, { 'docs/config': 'x' }))).rejects.toMatchObject(refusal);
    await expect(
      importFrom(own, snapshot(own, { 'docs/config': whole['docs/config']!, 'docs/hooks/x': '' })),
    ).rejects.toMatchObject(refusal);
  });

  it('are refused if two stories add one part each', async () => {
    const shop = await makeWorkshop();
    const half = (paths: string[]) =>
      Object.fromEntries(Object.entries(whole).filter(([path]) => paths.includes(path)));
    const first = commitFiles(shop.agent, half(['docs/HEAD', 'docs/config']), 'one');
    run(shop.agent, ['checkout', '-q', '-b', 'other', shop.base]);
    const second = commitFiles(shop.agent, half(['docs/objects/.keep', 'docs/refs/.keep']), 'two');
    const candidateDir = candidatePath(shop.scratchDir);
    run(candidateDir, ['fetch', '-q', shop.agent, first, second]);
    await expect(mergeOnto({ candidateDir, commit: second, onto: first })).rejects.toMatchObject(refused(/"docs"/));
  });

  it('do not prevent other work: folders with one such name, and files in a repository of the base', async () => {
    const shop = await makeWorkshop({ ...embedded('fixtures/a.git', wire) });
    const files = {
      'head/objects/x': '1',
      'a/HEAD': '',
      'b/refs/x': '',
      'config/core': '',
      'hooks/use.ts': '',
      'fixtures/a.git/refs/heads/b': 'x',
      'src/objects/a': '',
      'src/refs/a': '',
    };
    expect((await importFrom(shop, snapshot(shop, files))).changed).toHaveLength(8);
  });

  it.each(['GITHUB~1/workflows/x.yml', 'HALO~1.TOM', 'a/CLAUDE~1.MD'])(
    'hidden behind the Windows short name of another file are refused: %s',
    async (path) => {
      const shop = await fresh();
      await expect(importFrom(shop, snapshot(shop, { [path]: 'x' }))).rejects.toMatchObject(refused(/Windows/));
    },
  );
});

describe('incident embedded-repository: halo in such a folder', () => {
  /** A checkout that holds one already, and a plain git that obeys it: the attack is real. */
  function planted(lines: string[] = []): { root: string; docs: string; wire: string } {
    const root = tempDir();
    const wire = join(root, 'wire');
    const docs = join(root, 'docs');
    makeRepo(root);
    write(root, embedded('docs', wire, lines));
    const git = (...args: string[]) => execFileSync('git', ['-C', docs, ...args], { stdio: 'pipe' });
    git('status');
    expect(existsSync(wire)).toBe(true);
    execFileSync('rm', [wire]);
    return { root, docs, wire };
  }

  it('runs no program, and names the folder to use', async () => {
    const { root, docs, wire } = planted(['bare = false', 'worktree = .']);
    for (const folder of [docs, join(docs, 'refs')]) {
      await expect(inspectRepo(folder)).rejects.toMatchObject({
        code: 'NOT_A_GIT_REPO',
        message: `${docs} looks like a bare repository, but is inside the checkout ${root}.`,
      });
      await listChanges(folder).catch(() => undefined);
    }
    expect(existsSync(wire)).toBe(false);
  });

  it('sets safe.bareRepository in both trust modes', () => {
    for (const trust of ['sealed', 'operator'] as const)
      expect(environmentFor('/usr/bin/git', { trust, protocols: '', syncs: undefined }).config).toContain(
        'safe.bareRepository=explicit',
      );
  });

  it('uses a bare repository outside a work tree, and no files elsewhere', async () => {
    const home = tempDir();
    const root = join(home, 'shop');
    makeRepo(root);
    run(home, ['clone', '-q', '--bare', root, 'bare.git']);
    expect(await inspectRepo(join(home, 'bare.git/refs'))).toMatchObject({ gitDir: join(home, 'bare.git') });
    expect(await inspectRepo(join(root, '.git'))).toMatchObject({ root });
    run(root, ['config', 'core.worktree', home]);
    for (const folder of [root, join(root, '.git')])
      await expect(inspectRepo(folder)).rejects.toMatchObject({
        code: 'NOT_A_GIT_REPO',
        message: expect.stringContaining(`elsewhere, in ${home}`) as string,
      });
  });
});
