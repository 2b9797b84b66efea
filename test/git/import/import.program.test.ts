import { randomBytes } from 'node:crypto';
import { readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { limitsAsViolation } from '../../../src/git/import/import-limits.ts';
import { AT_LIMIT } from '../../../src/git/process/git.ts';
import { candidatePath } from '../../../src/git/repository/scratch-repo.ts';
import { commitFiles, run, runBytes, writeObject } from '../../support/repository/git-fixture.ts';
import { blob, importFrom, makeWorkshop, openScratch, packOf, rawTree, snapshot, treeWith } from './import-fixture.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';

const refused = (rule: RegExp | string) => ({
  code: 'POLICY_VIOLATION',
  message: expect.stringMatching(rule) as string,
});

it('imports added, changed and deleted files into a candidate that needs only its view', async () => {
  const shop = await makeWorkshop({ 'README.md': 'hi\n', 'src/a.ts': '1\n', 'old/x': 'x' });
  rmSync(join(shop.agent, 'old'), { recursive: true });
  symlinkSync('../README.md', join(shop.agent, 'src/link'));
  const tree = snapshot(shop, { 'src/a.ts': '2\n', 'docs/ä b.md': 'new', '.gitignore': 'x\n', '.github/w.yml': 'a' });
  const imported = await importFrom(shop, tree);
  expect(imported).toEqual({
    tree,
    suspects: [],
    hidden: undefined,
    large: [],
    changed: [
      { path: '.github/w.yml', change: 'add', mode: '100644' },
      { path: '.gitignore', change: 'add', mode: '100644' },
      { path: 'docs/ä b.md', change: 'add', mode: '100644' },
      { path: 'old/x', change: 'delete', mode: '100644' },
      { path: 'src/a.ts', change: 'update', mode: '100644' },
      { path: 'src/link', change: 'add', mode: '120000' },
    ],
  });
  expect(readdirSync(shop.scratchDir)).toEqual(['base.git', 'candidate.git', 'export.pack']);
  renameSync(shop.source, `${shop.source} away`);
  expect(run(candidatePath(shop.scratchDir), ['ls-tree', '-r', '--name-only', tree])).toContain('src/link');
  expect(run(candidatePath(shop.scratchDir), ['cat-file', 'blob', `${tree}:src/a.ts`])).toBe('2');
});

it('imports a file that became a folder, a folder that became a file, and an emptied tree', async () => {
  const shop = await makeWorkshop({ a: '1', 'b/c': '2' });
  rmSync(join(shop.agent, 'a'));
  rmSync(join(shop.agent, 'b'), { recursive: true });
  expect((await importFrom(shop, snapshot(shop))).changed).toHaveLength(2);
  const tree = snapshot(shop, { 'a/x': '1', b: '3' });
  expect(await importFrom(shop, tree)).toMatchObject({ tree });
});

it('reports no change if the tree is the base tree', async () => {
  const shop = await makeWorkshop();
  const tree = snapshot(shop);
  expect(await importFrom(shop, tree)).toEqual({ tree, changed: [], suspects: [], hidden: undefined, large: [] });
});

it('works on a shallow source', async () => {
  const shop = await makeWorkshop();
  commitFiles(shop.source, { n: '1' }, 'second');
  run(shop.home, ['clone', '-q', '--depth', '1', `file://${shop.source}`, 'thin']);
  const from = join(shop.home, 'thin/.git');
  const { dir, head } = await updateMirror({ home: shop.home, name: 'thin', from });
  const scratchDir = await openScratch({ mirrorDir: dir, attemptId: 'a', commit: head });
  const thin = { ...shop, agent: join(shop.home, 'thin'), mirrorDir: dir, scratchDir, base: head };
  const tree = snapshot(thin, { 'new.txt': 'x' });
  expect((await importFrom(thin, tree)).changed).toEqual([{ path: 'new.txt', change: 'add', mode: '100644' }]);
});

it.each(['.git', '.GIT', 'git~1', '..', '.', '.git ', '.g\u200cit', '.gitmodules', 'GITMOD~1'])(
  'refuses an entry named %j',
  async (name) => {
    const shop = await makeWorkshop();
    const file = { mode: '100644', name, id: blob(shop, 'x') };
    await expect(importFrom(shop, treeWith(shop, [file]))).rejects.toMatchObject(refused(''));
    const folder = {
      mode: '40000',
      name,
      id: rawTree(shop, [{ mode: '100644', name: 'config', id: blob(shop, 'x') }]),
    };
    await expect(importFrom(shop, treeWith(shop, [folder]))).rejects.toMatchObject(refused(''));
    expect(readdirSync(join(candidatePath(shop.scratchDir), 'objects/pack'))).toEqual([]);
  },
);

it.each([
  ['evil\u001b[2J', /evil<U\+001B>.*control/],
  ['a\nb', /a<U\+000A>b.*control/],
  ['safe\u202etxt.exe', /<U\+202E>.*invisible/],
  ['a\u3164.txt', /<U\+3164>.*invisible/],
  ['e\u0301.txt', /normal form/],
  ['a\\b', /backslash/],
  ['C:x', /colon/],
  ['nul.txt', /reserved/],
  ['COM¹', /reserved/],
  ['aux .c', /reserved/],
  ['CONOUT$', /reserved/],
  ['.g\u0131t', /into \.git/],
  ['.gitmodule\u017f', /submodules/],
  ['x.', /dot/],
  ['x'.repeat(256), /longer than 255/],
])('refuses a new file named %j and escapes the name', async (name, rule) => {
  const shop = await makeWorkshop();
  const tree = treeWith(shop, [{ mode: '100644', name, id: blob(shop, 'x') }]);
  await expect(importFrom(shop, tree)).rejects.toMatchObject(refused(rule));
});

it('refuses names that are not UTF-8', async () => {
  const shop = await makeWorkshop();
  const entry = Buffer.concat([Buffer.from('100644 \xff\0', 'latin1'), Buffer.from(blob(shop, 'x'), 'hex')]);
  const tree = writeObject(shop.agent, 'tree', entry);
  await expect(importFrom(shop, tree)).rejects.toMatchObject(refused(/UTF-8/));
});

it.each(['', '/etc/passwd', '../outside', 'src/../../x', 'src/..', '.git/hooks', 'src/.GIT/x', 'a\u001bb', 'c:x'])(
  'refuses a symbolic link to %j',
  async (target) => {
    const shop = await makeWorkshop();
    const tree = treeWith(shop, [{ mode: '120000', name: 'link', id: blob(shop, target) }]);
    await expect(importFrom(shop, tree)).rejects.toMatchObject(refused(/"link" .*symbolic link/));
  },
);

it('refuses git files that are symbolic links, submodules and unusual modes', async () => {
  const shop = await makeWorkshop();
  const id = blob(shop, 'x');
  const link = treeWith(shop, [{ mode: '120000', name: '.gitattributes', id: blob(shop, 'README.md') }]);
  await expect(importFrom(shop, link)).rejects.toMatchObject(refused(/symbolic link/));
  const submodule = treeWith(shop, [{ mode: '160000', name: 'sub', id: shop.base }]);
  await expect(importFrom(shop, submodule)).rejects.toMatchObject(
    refused(/^sub\/ is a git repository .*: remove sub\/\.git/),
  );
  const setuid = treeWith(shop, [{ mode: '104755', name: 'suid', id }]);
  await expect(importFrom(shop, setuid)).rejects.toMatchObject(refused(''));
});

it('refuses names that differ from a neighbour only in case or Unicode form, unless the base has both', async () => {
  const shop = await makeWorkshop({ 'README.md': 'hi\n', 'src/a.ts': '1', 'src/B.ts': '1', 'src/b.ts': '2' });
  const id = blob(shop, 'x');
  const folder = { mode: '40000', name: 'SRC', id: rawTree(shop, [{ mode: '100644', name: 'z', id }]) };
  const file = { mode: '100644', name: 'readme.md', id };
  await expect(importFrom(shop, treeWith(shop, [folder]))).rejects.toMatchObject(refused(/"SRC".*"src"/));
  await expect(importFrom(shop, treeWith(shop, [file]))).rejects.toMatchObject(refused(/"readme\.md".*"README\.md"/));
  expect((await importFrom(shop, snapshot(shop, { 'src/c.ts': '3' }))).changed).toHaveLength(1);
});

it('refuses invalid data, a truncated pack, a wrong, missing or malformed tree id, and a tree that is a commit', async () => {
  const shop = await makeWorkshop();
  const tree = snapshot(shop, { n: '1' });
  const pack = packOf(shop, tree);
  const packs = {
    garbage: Buffer.from('\0nope'.repeat(1000)),
    cut: pack.subarray(0, pack.length - 5),
    none: Buffer.alloc(0),
  };
  for (const bytes of Object.values(packs)) {
    await expect(importFrom(shop, tree, { pack: bytes })).rejects.toMatchObject(refused(/pack/));
  }
  await expect(importFrom(shop, 'f'.repeat(40), { pack })).rejects.toMatchObject(refused(/tree/));
  for (const id of ['--help', 'HEAD', '', shop.base.slice(1)]) {
    await expect(importFrom(shop, id, { pack })).rejects.toMatchObject(refused(/id of a tree/));
  }
  await expect(importFrom(shop, shop.base)).rejects.toMatchObject(refused(/tree/));
  await expect(importFrom(shop, blob(shop, 'x'))).rejects.toMatchObject(refused(''));
  const hollow = treeWith(shop, [{ mode: '100644', name: 'ghost', id: 'a'.repeat(40) }]);
  const bare = runBytes(shop.agent, ['pack-objects', '--stdout', '-q'], `${hollow}\n`);
  await expect(importFrom(shop, hollow, { pack: bare })).rejects.toMatchObject(refused(''));
});

it('enforces limits on entries, file size, total size and pack, also for a bomb of nested trees', async () => {
  const shop = await makeWorkshop();
  const tree = snapshot(shop, { a1: 'xxxxx', a2: 'yyyyy', a3: 'zzzzz' });
  const cases: [Record<string, number>, RegExp][] = [
    [{ entries: 2 }, /more than 2 files/],
    [{ fileBytes: 4 }, /"a1".*larger than 4/],
    [{ totalBytes: 14 }, /larger than 14 bytes together/],
    [{ packBytes: 20 }, /maximum allowed size/],
  ];
  for (const [limits, rule] of cases) {
    await expect(importFrom(shop, tree, { limits })).rejects.toMatchObject(refused(rule));
  }
  let id = blob(shop, 'x');
  for (let level = 0; level < 6; level += 1) {
    const mode = level === 0 ? '100644' : '40000';
    id = rawTree(
      shop,
      [...'abcdefghij'].map((name) => ({ mode, name, id })),
    );
  }
  await expect(importFrom(shop, id)).rejects.toMatchObject(refused(/more than 10000 files/));
});

it('blames the story for a limit that git reached, and for no other failure of git', async () => {
  const failing = (cause?: string) =>
    limitsAsViolation(() => Promise.reject(new HaloError('GIT_FAILED', 'git did not end.', { cause })));
  await expect(failing(AT_LIMIT)).rejects.toMatchObject(refused(/too large or too complex \(git did not end\)/));
  await expect(failing()).rejects.toMatchObject({ code: 'GIT_FAILED' });
});

it('ends on the signal of the caller, also while git reads the pack', async () => {
  const shop = await makeWorkshop();
  const tree = snapshot(shop, { n: randomBytes(4_000_000) });
  for (const signal of [AbortSignal.abort(), AbortSignal.timeout(5)])
    await expect(importFrom(shop, tree, { signal })).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  expect(readdirSync(shop.scratchDir)).not.toContain('quarantine.git');
});

describe('secrets in what is imported', () => {
  const masker = openMasker();
  masker.learn(['secret-of-this-machine']);

  it.each([
    ['in a file', { 'a/b.txt': 'x secret-of-this-machine\n' }, 'a/b.txt'],
    [
      'in base64, wrapped',
      {
        b: Buffer.from('x'.repeat(50) + 'secret-of-this-machine')
          .toString('base64')
          .replace(/.{20}/g, '$&\n'),
      },
      'b',
    ],
    ['in a name', { 'secret-of-this-machine.txt': 'x' }, 'secret-of-this-machine.txt'],
    ['behind two megabytes', { big: 'x'.repeat(2_000_000) + 'secret-of-this-machine' }, 'big'],
  ])('are refused %s; only the user of halo sees the location', async (_where, files, where) => {
    const shop = await makeWorkshop({ old: '1' });
    const found: string[] = [];
    const onSecret = (path: string) => Promise.resolve(void found.push(path));
    await expect(importFrom(shop, snapshot(shop, files), { masker, onSecret })).rejects.toMatchObject({
      code: 'POLICY_VIOLATION',
      message: "The agent's result is refused: it contains a secret of the machine that halo runs on.",
    });
    expect(found).toEqual([where]);
  });

  it('do not count if the file contained them before, and probable ones are reported with their path', async () => {
    const shop = await makeWorkshop({ old: 'secret-of-this-machine AKIAIOSFODNN7EXAMPLE\n' });
    const files = {
      old: 'secret-of-this-machine AKIAIOSFODNN7EXAMPLE\nmore\n',
      new: 'AKIAIOSFODNN8EXAMPLE\n',
      empty: '',
    };
    expect(await importFrom(shop, snapshot(shop, files), { masker })).toMatchObject({
      suspects: [{ path: 'new', names: ['an AWS access key (aws-access-key)'] }],
    });
  });

  it('name the rule by which they are probable, each text once; rules that the user allows do not count', async () => {
    const key = ['q7Zr2', 'XbN9w', 'Lp4Vt', 'Hs8Kd'].join('');
    const shop = await makeWorkshop({ old: `password = "${key}"\n` });
    const files = {
      old: `password = "${key}"\nmore\n`,
      'src/a.ts': `const apiKey = '${key}';\n`,
      'test/a.ts': `const apiKey = '${key}';\n`,
      'b.env': `GITHUB_TOKEN=${'ghp_'}${key}${key.slice(4)}\n`,
    };
    const isAllowed = (rule: string, path: string) => rule === 'generic-api-key' && path.startsWith('test/');
    expect((await importFrom(shop, snapshot(shop, files), { masker, isAllowed })).suspects).toEqual([
      { path: 'b.env', names: ['a GitHub token (github-token)'] },
      { path: 'src/a.ts', names: ['a possible secret (generic-api-key)'] },
    ]);
  });
});

it('reports files that become large, but not those that were large before', async () => {
  const large = 'x'.repeat(600 * 1024);
  const shop = await makeWorkshop({ 'old.bin': large, 'grows.txt': 'small\n' });
  const files = { 'old.bin': large + large, 'grows.txt': large, 'new.bin': large, 'small.txt': 'x' };
  expect((await importFrom(shop, snapshot(shop, files))).large).toEqual([
    { path: 'grows.txt', bytes: 614_400 },
    { path: 'new.bin', bytes: 614_400 },
  ]);
});

describe('hidden characters in what is imported', () => {
  it('are counted line by line, except those that existed before, also in another file', async () => {
    const old = 'a \u001b[31m\nb\n';
    const shop = await makeWorkshop({ 'old.txt': old, 'moved.txt': 'x\u200b\n' });
    rmSync(join(shop.agent, 'moved.txt'));
    const files = {
      'old.txt': `new\n${old}c \u202e\u2066\n`,
      'elsewhere.txt': 'x\u200b\n',
      'bom.txt': '\ufeffä 👩‍💻\r\nplain\r\n',
      'zero.js': 'run()\n\u0000\n',
      'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0x1b, 0x9d, 0x0a]),
      'latin1.txt': Buffer.from('caf\xe9 \x93\n', 'latin1'),
    };
    expect((await importFrom(shop, snapshot(shop, files))).hidden).toEqual({
      characters: 3,
      lines: 2,
      files: 2,
      places: ['old.txt:4', 'zero.js:2'],
    });
  });

  it('take linear time', async () => {
    const shop = await makeWorkshop();
    const files = { a: Buffer.alloc(4_200_000, 'a\u200b'), b: Buffer.alloc(4_200_000, 'b\u200b') };
    const { hidden } = await importFrom(shop, snapshot(shop, files));
    expect(hidden?.characters).toBeGreaterThanOrEqual(1_000_000);
    expect(hidden?.characters).toBeLessThan(1_200_000);
  });
});
