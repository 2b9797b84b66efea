import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { mirrorPath, updateMirror, withMirrorLock } from '../../../src/git/mirror/mirror.ts';
import { streamHistory } from '../../../src/git/mirror/send-commit.ts';
import { repackMirror } from '../../../src/git/mirror/mirror-upkeep.ts';
import { canonicalSource, isUrl, mirrorName, parseRemote } from '../../../src/git/repository/repo-url.ts';
import { commitFiles, makeRepo, run, runBytes } from '../../support/repository/git-fixture.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('names mirrors readably and safely, without credentials', () => {
  expect(mirrorName('/home/ada/Mein Läden/.git')).toMatch(/^mein-la-den-[0-9a-f]{32}$/);
  expect(mirrorName('/')).toMatch(/^repo-[0-9a-f]{32}$/);
  expect(mirrorName('https://ada:secret@example.com/org/shop.git')).toBe(
    mirrorName('https://example.com/org/shop.git'),
  );
  expect(mirrorName('git@example.com:org/shop.git')).toMatch(/^shop-/);
  expect(mirrorName('/a/shop/.git')).not.toBe(mirrorName('/b/shop/.git'));
});

it.each([
  [
    'https://example.com/team/shop',
    ...[
      'https://example.com/team/shop.git',
      'https://Example.com:443/team//shop/',
      'https://u:p@example.com/team/sho%70',
    ],
  ],
  ['ssh://example.com/team/shop', 'ssh://git@example.com:22/team/shop.git/'],
  ['example.com:team/shop', 'git@example.com:team/shop.git', 'git@EXAMPLE.com:team//shop/'],
  ['https://github.com/acme/shop', 'https://github.com/ACME/Shop.git', 'https://github.com./acme/shop'],
  ['https://example.com/a%3Bb', 'https://example.com/a%3bb.git'],
  ['/srv/git/shop.git', '/srv/git/shop.git/'],
])('%s is the one spelling of %s', (canonical, ...spellings) => {
  for (const each of [canonical, ...spellings]) {
    expect(canonicalSource(each)).toBe(canonical);
    expect(mirrorName(each)).toBe(mirrorName(canonical));
  }
});

it.each([
  ['https://example.com/team/shop', 'https://example.com/team/Shop'],
  ['https://example.com/team/shop', 'http://example.com/team/shop'],
  ['https://example.com/team/shop', 'https://example.com:8443/team/shop'],
  ['ssh://example.com/team/shop', 'git@example.com:team/shop'],
  ['/srv/git/shop', '/srv/git/shop.git'],
])('%s is another repository than %s', (one, other) => {
  expect(mirrorName(one)).not.toBe(mirrorName(other));
});

it.each([
  'https://example.com/team/shop?a=1',
  'https://example.com/team/shop#y',
  'https://example.com/team/../shop',
  'https://example.com/team/%2e%2e/shop',
  'https://example.com/team%2fshop',
  'https://example.com/team/shop%3fa',
  'https://example.com/team/shop%00',
  'https://example.com/team\\shop',
  'http://127.0.0.1\\@example.com/team/shop',
  'http://127.0.0.1\n@example.com/team/shop',
  'ssh://git@example.com/team/shop#y',
  'https://u:p@example.com/team/shop?a=1',
])('%s has no canonical form and is refused', (source) => {
  expect(() => parseRemote(source)).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

it('isUrl distinguishes URLs from paths', () => {
  const urls = ['https://example.com/a', 'ssh://git@h/a', 'git://h/a', 'file:///tmp/x', 'git@host:org/a.git'];
  for (const source of urls) expect(isUrl(source), source).toBe(true);
  for (const source of ['.', '../shop', '/srv/a:b', 'shop', '-oProxyCommand=x', 'C']) expect(isUrl(source)).toBe(false);
});

it('mirrors a commit with its history, and contains no URL, hook or FETCH_HEAD', async () => {
  const home = tempDir();
  const source = join(home, 'Quelle mit Länge');
  const first = makeRepo(source);
  const head = commitFiles(source, { b: '2' }, 'second');
  run(source, ['branch', 'private', first]);
  const mirror = await updateMirror({ home, name: 'm-1', from: join(source, '.git') });
  expect(mirror).toMatchObject({ dir: mirrorPath(home, 'm-1'), head });
  expect(run(mirror.dir, ['rev-list', `refs/halo/base/${head}`])).toBe(`${head}\n${first}`);
  expect(run(mirror.dir, ['for-each-ref', '--format=%(refname)'])).toBe(`refs/halo/base/${head}`);
  expect(readdirSync(mirror.dir).sort()).toEqual(['HEAD', 'config', 'objects', 'refs']);
  expect(readFileSync(join(mirror.dir, 'config'), 'utf8')).not.toContain('Quelle');
  run(mirror.dir, ['fsck', '--strict']);
});

it('names a partial clone, and the command that fetches what it lacks', async () => {
  const home = tempDir();
  const source = join(home, 'up');
  makeRepo(source);
  commitFiles(source, { b: '2' }, 'second');
  commitFiles(source, { b: '3' }, 'third');
  run(source, ['config', 'uploadpack.allowFilter', 'true']);
  const partial = join(home, 'partial');
  run(home, ['clone', '--quiet', '--filter=blob:none', `file://${source}`, partial]);
  await expect(updateMirror({ home, name: 'm-1', from: join(partial, '.git') })).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('is a partial clone') as string,
    hint: expect.stringContaining('git fetch --refetch --no-filter') as string,
  });
});

it('names an object that a damaged repository lacks, and how to get it', async () => {
  const home = tempDir();
  const source = join(home, 'src');
  makeRepo(source);
  commitFiles(source, { b: '2' }, 'second');
  const lost = run(source, ['rev-parse', 'HEAD:b']);
  commitFiles(source, { b: '3' }, 'third');
  rmSync(join(source, '.git/objects', lost.slice(0, 2), lost.slice(2)));
  await expect(updateMirror({ home, name: 'm-1', from: join(source, '.git') })).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringMatching(
      `src/.git is damaged: it lacks .* such as the object ${lost.slice(0, 12)}\\.`,
    ) as string,
    hint: expect.stringContaining('git fetch --refetch') as string,
  });
});

it('hazard 51: creates a mirror although its folder is removed while it waits for the lock', async () => {
  const home = tempDir();
  const head = makeRepo(join(home, 'src'));
  const dir = mirrorPath(home, 'm-1');
  mkdirSync(dirname(dir), { recursive: true });
  const waiting = await withMirrorLock(dir, () => {
    const submit = withMirrorLock(dir, () => Promise.resolve('has the lock')).catch((error: unknown) => error);
    renameSync(dirname(dir), join(home, 'removed'));
    return Promise.resolve([submit]);
  });
  expect(await Promise.all(waiting)).toEqual(['has the lock']);
  expect(await updateMirror({ home, name: 'm-1', from: join(home, 'src/.git') })).toMatchObject({ dir, head });
});

it('combines many packs without loss, and leaves a few unchanged', async () => {
  const home = tempDir();
  const from = join(home, 'src/.git');
  const heads = [makeRepo(join(home, 'src'))];
  for (const n of [1, 2, 3]) heads.push(commitFiles(join(home, 'src'), { [`f${n}`]: `${n}` }, `commit ${n}`));
  for (const commit of heads) await updateMirror({ home, name: 'm', from, commit });
  const dir = mirrorPath(home, 'm');
  const packs = () => readdirSync(join(dir, 'objects/pack')).filter((name) => name.endsWith('.pack')).length;
  // Brought by a story that is just about to land: no ref has it yet.
  const blob = run(join(home, 'src'), ['hash-object', '-w', '--stdin'], 'not referred to');
  const pack = runBytes(join(home, 'src'), ['pack-objects', '--stdout', '-q'], `${blob}\n`);
  runBytes(dir, ['index-pack', '--stdin'], pack);
  expect(packs()).toBe(5);
  await repackMirror(dir);
  expect(packs()).toBe(5);
  await Promise.all([repackMirror(dir, 3), repackMirror(dir, 3)]);
  expect(packs()).toBe(1);
  for (const id of [...heads, blob]) run(dir, ['cat-file', '-e', id]);
  run(dir, ['fsck', '--strict']);
});

it('fetches nothing if the commit exists already', async () => {
  const home = tempDir();
  const head = makeRepo(join(home, 'src'));
  const from = join(home, 'src/.git');
  await updateMirror({ home, name: 'm', from, commit: head });
  renameSync(from, `${from}-gone`);
  expect(await updateMirror({ home, name: 'm', from, commit: head, branch: 'main' })).toMatchObject({ head });
});

it('runs nothing that the source repository configures', async () => {
  const home = tempDir();
  const source = join(home, 'src');
  makeRepo(source, { '.gitattributes': '* filter=evil\n', a: '1' });
  const tripwire = join(home, 'tripped');
  const script = join(home, 'evil.sh');
  writeFileSync(script, `#!/bin/sh\ntouch "${tripwire}"\ncat\n`);
  chmodSync(script, 0o755);
  for (const key of ['core.fsmonitor', 'filter.evil.clean', 'filter.evil.smudge', 'uploadpack.packObjectsHook']) {
    run(source, ['config', key, `"${script}"`]);
  }
  await updateMirror({ home, name: 'm', from: join(source, '.git') });
  expect(existsSync(tripwire)).toBe(false);
});

it('is safe for concurrent fetches of the same and other commits', async () => {
  const home = tempDir();
  const source = join(home, 'src');
  const heads = [makeRepo(source)];
  for (let i = 0; i < 5; i += 1) heads.push(commitFiles(source, { [`f${i}`]: String(i) }, `c${i}`));
  const jobs = [...heads, ...heads].map((commit) =>
    updateMirror({ home, name: 'm', from: join(source, '.git'), commit }),
  );
  const dirs = new Set((await Promise.all(jobs)).map((mirror) => mirror.dir));
  const [dir] = dirs;
  expect(dirs.size).toBe(1);
  expect(
    run(dir ?? '', ['for-each-ref', '--format=%(objectname)'])
      .split('\n')
      .sort(),
  ).toEqual([...heads].sort());
  expect(readdirSync(join(home, 'repos/m'))).toEqual(['mirror.git', 'source']);
  run(dir ?? '', ['fsck', '--strict']);
});

it('mirrors a shallow repository, also concurrently, and knows where its history ends', async () => {
  const home = tempDir();
  makeRepo(join(home, 'deep'));
  const middle = commitFiles(join(home, 'deep'), { b: '2' }, 'second');
  const head = commitFiles(join(home, 'deep'), { b: '3' }, 'third');
  run(home, ['clone', '-q', '--depth', '2', `file://${join(home, 'deep')}`, 'thin']);
  const from = join(home, 'thin/.git');
  await Promise.all([head, middle, head].map((commit) => updateMirror({ home, name: 'm', from, commit })));
  const dir = mirrorPath(home, 'm');
  expect(run(dir, ['rev-list', head])).toBe(`${head}\n${middle}`);
});

it('reads a repository of another user', skipFor(process.getuid?.() !== 0 && 'needs root'), async () => {
  const home = tempDir();
  const head = makeRepo(join(home, 'src'));
  chownSync(join(home, 'src/.git'), 12345, 12345);
  chownSync(join(home, 'src'), 12345, 12345);
  expect(await updateMirror({ home, name: 'm', from: join(home, 'src/.git'), commit: head })).toMatchObject({ head });
});

it('mirrors sha256 repositories', async () => {
  const home = tempDir();
  mkdirSync(join(home, 'src'));
  run(join(home, 'src'), ['init', '-q', '--object-format=sha256']);
  const head = commitFiles(join(home, 'src'), { a: '1' }, 'first');
  const { dir } = await updateMirror({ home, name: 'm', from: join(home, 'src/.git') });
  expect(run(dir, ['cat-file', '-t', head])).toBe('commit');
});

it('mirrors a URL with its default branch or a named one, and reports an error clearly', async () => {
  const home = tempDir();
  const source = join(home, 'src');
  const first = makeRepo(source);
  run(source, ['branch', 'other']);
  const head = commitFiles(source, { b: '2' }, 'second');
  const from = `file://${source}`;
  expect(await updateMirror({ home, name: 'm', from })).toMatchObject({ head, branch: 'main' });
  expect(await updateMirror({ home, name: 'm', from, branch: 'other' })).toMatchObject({
    head: first,
    branch: 'other',
  });
  await expect(updateMirror({ home, name: 'm', from, branch: 'nope' })).rejects.toMatchObject({ code: 'NO_COMMITS' });
  const gone = updateMirror({ home, name: 'g', from: `file://u:secret@${home}/gone` });
  await expect(gone).rejects.toMatchObject({ code: 'REPO_UNREACHABLE' });
  await gone.catch((error: Error) => expect(error.message).not.toContain('secret'));
});

it('streams what a repository lacks of a commit as a pack', async () => {
  const home = tempDir();
  const first = makeRepo(join(home, 'src'), { 'a/ä.txt': 'x', large: randomBytes(100_000).toString('hex') });
  const second = commitFiles(join(home, 'src'), { b: '2' }, 'second');
  mkdirSync(join(home, 'dst'));
  run(join(home, 'dst'), ['init', '-q']);
  const gitDir = join(home, 'src/.git');
  const receive = async (wanted: string, known: string[]) => {
    const pack = Buffer.concat(
      (await (await streamHistory({ gitDir, wanted: [wanted], known })).toArray()) as Buffer[],
    );
    runBytes(join(home, 'dst'), ['index-pack', '--stdin', '--fix-thin', '--strict'], pack);
    return pack.length;
  };
  expect(await receive(first, [])).toBeGreaterThan(100_000);
  expect(await receive(second, [first])).toBeLessThan(1_000);
  run(join(home, 'dst'), ['checkout', '-q', second]);
  expect(readFileSync(join(home, 'dst/a/ä.txt'), 'utf8')).toBe('x');
  run(join(home, 'dst'), ['fsck', '--strict']);
  const broken = await streamHistory({ gitDir, wanted: ['e'.repeat(40)], known: [] });
  await expect(broken.toArray()).rejects.toMatchObject({ code: 'GIT_FAILED' });
});

it.each([
  ['https://u:p%40@h/a@b', 'https://h/a@b', { user: 'u', password: 'p@' }],
  ['https://token@h/a.git', 'https://h/a.git', { user: 'token', password: '' }],
  ['https://h/a.git', 'https://h/a.git', undefined],
  ['ssh://git:p@h:22/a', 'ssh://git@h:22/a', undefined],
  ['ssh://git@h/a', 'ssh://git@h/a', undefined],
  ['git@h:a/b.git', 'git@h:a/b.git', undefined],
  ['git://u:p@h/a', 'git://h/a', undefined],
])('the password of the URL %s is not stored', (source, address, login) => {
  expect(parseRemote(source)).toEqual({ address, login });
});

it.each(['https://u:p%0apassword=x@h/a', 'https://u:p/q@h/a', 'https://:9'])('%j is not a URL', (source) => {
  expect(() => parseRemote(source)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
});
