import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { commitMessage, STORY_KEY_TRAILER } from '../../../src/git/commit/commit-message.ts';
import { createCommit } from '../../../src/git/commit/create-commit.ts';
import { findLandedCommit, moveBranch, transferCommit, type LandRequest } from '../../../src/git/land/land-commit.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { processMark } from '../../../src/lib/process-identity.ts';
import { candidatePath, removeScratch } from '../../../src/git/repository/scratch-repo.ts';
import { commitFiles, run } from '../../support/repository/git-fixture.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { importFrom, makeWorkshop, openScratch, snapshot, type Workshop } from '../import/import-fixture.ts';

const ref = 'refs/heads/halo/r1';

async function makeStory(shop: Workshop, story: string, files: Record<string, string>) {
  const tree = snapshot(shop, files);
  await importFrom(shop, tree);
  const trailers = { 'Halo-Run': 'r1', 'Halo-Story': story, [STORY_KEY_TRAILER]: storyKey(story), 'Halo-Attempt': '1' };
  const message = commitMessage({ template: '{id}: {title}', id: story, title: 't', run: 'r1', body: 'b', trailers });
  const author = { name: 'halo', email: 'halo@localhost' };
  const candidateDir = candidatePath(shop.scratchDir);
  const commit = await createCommit({ candidateDir, tree, parent: shop.base, message, author, date: new Date(0) });
  return { candidateDir, mirrorDir: shop.mirrorDir, hostGitDir: join(shop.source, '.git'), ref, commit };
}

async function landCommit(request: LandRequest): Promise<void> {
  await transferCommit(request);
  await moveBranch(request);
}

it('moves only branches of runs', async () => {
  const shop = await makeWorkshop();
  const { commit, mirrorDir } = { ...shop, commit: shop.base };
  const hostGitDir = join(shop.source, '.git');
  for (const other of ['refs/heads/main', 'refs/heads/halo/r1/../../main', 'refs/tags/halo/r1', 'HEAD'])
    await expect(moveBranch({ hostGitDir, mirrorDir, ref: other, commit, expected: undefined })).rejects.toMatchObject({
      message: 'The ref is not one that halo may move.',
    });
});

it('lands stories in order in host and mirror, leaves the checkout unchanged, and finds them again', async () => {
  const shop = await makeWorkshop();
  const first = await makeStory(shop, 'US-1', { 'new.txt': 'x' });
  await landCommit({ ...first, expected: undefined });
  await landCommit({ ...first, expected: undefined });
  const scratchDir = await openScratch({ mirrorDir: shop.mirrorDir, attemptId: 'att-2', commit: first.commit });
  const next = { ...shop, base: first.commit, scratchDir };
  run(shop.agent, ['fetch', '-q', shop.source, first.commit]);
  const second = await makeStory(next, 'US-2', { 'new.txt': 'y' });
  await landCommit({ ...second, expected: first.commit });
  await removeScratch(shop.scratchDir);
  await removeScratch(scratchDir);
  for (const dir of [shop.source, shop.mirrorDir]) {
    expect(run(dir, ['rev-list', `${shop.base}..${ref}`])).toBe(`${second.commit}\n${first.commit}`);
    run(dir, ['fsck', '--strict']);
  }
  expect(run(shop.source, ['reflog', ref])).toContain('halo');
  expect(run(shop.source, ['status', '--porcelain', '--branch'])).toBe('## main');
  const query = { hostGitDir: first.hostGitDir, ref, base: shop.base, runId: 'r1', others: [] };
  const find = (id: string, more = {}) => findLandedCommit({ ...query, story: { id, key: storyKey(id) }, ...more });
  expect(await find('US-1')).toBe(first.commit);
  expect(await find('US-2')).toBe(second.commit);
  expect(await find('US-3')).toBeUndefined();
  expect(await find('US-1', { story: { id: 'US-1', key: 'other' } })).toBeUndefined();
  expect(await find('US-1', { ref: 'refs/heads/halo/none' })).toBeUndefined();
});

it('hazard 43: lands although a power failure left locks of the branch', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { 'new.txt': 'x' });
  const minuteAgo = Date.now() / 1000 - 60;
  const locks = [story.hostGitDir, shop.mirrorDir].map((dir) => join(dir, `${ref}.lock`));
  for (const lock of locks) {
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    utimesSync(lock, minuteAgo, minuteAgo);
  }
  await landCommit({ ...story, expected: undefined });
  for (const dir of [shop.source, shop.mirrorDir]) expect(run(dir, ['rev-parse', ref])).toBe(story.commit);
  expect(locks.filter((lock) => existsSync(lock))).toEqual([]);
});

it('hazard 26: refuses a ref that moved or exists, and one that is checked out, and changes neither', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  const other = commitFiles(shop.source, { z: '1' }, 'other');
  run(shop.source, ['update-ref', ref, other]);
  for (const expected of [undefined, shop.base]) {
    const message = expect.stringMatching(`, found ${other.slice(0, 12)}\\.$`) as string;
    await expect(landCommit({ ...story, expected })).rejects.toMatchObject({ code: 'CONFLICT', message });
  }
  expect(run(shop.source, ['rev-parse', ref])).toBe(other);
  expect(run(shop.mirrorDir, ['for-each-ref', 'refs/heads'])).toBe('');
  run(shop.source, ['update-ref', ref, shop.base]);
  run(shop.source, ['worktree', 'add', '-q', join(shop.home, 'linked'), 'halo/r1']);
  const held = landCommit({ ...story, expected: shop.base });
  await expect(held).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('linked') as string });
  expect(run(shop.source, ['rev-parse', ref])).toBe(shop.base);
});

it('reports a branch whose name prevents branches of runs', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  run(shop.source, ['branch', 'halo']);
  const message = expect.stringContaining('has a branch named halo') as string;
  await expect(landCommit({ ...story, expected: undefined })).rejects.toMatchObject({ code: 'LAND_REFUSED', message });
});

it.each(['refs/heads/halo', 'logs/refs/heads/halo'])('reports a file in the place of the folder %s', async (path) => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  mkdirSync(dirname(join(shop.source, '.git', path)), { recursive: true });
  writeFileSync(join(shop.source, '.git', path), '');
  const message = expect.stringContaining('is not a folder') as string;
  await expect(landCommit({ ...story, expected: undefined })).rejects.toMatchObject({ code: 'LAND_REFUSED', message });
});

it('lets exactly one of two racing commits land', async () => {
  const shop = await makeWorkshop();
  const one = await makeStory(shop, 'US-1', { n: '1' });
  const two = await makeStory(shop, 'US-1', { n: '2' });
  const results = await Promise.allSettled([one, two].map((story) => landCommit({ ...story, expected: undefined })));
  expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(run(shop.source, ['rev-parse', ref])).toBe(run(shop.mirrorDir, ['rev-parse', ref]));
});

it('lands only in the mirror if the mirror is the host repository, and from shallow sources', async () => {
  const shop = await makeWorkshop();
  const head = commitFiles(shop.source, { more: '1' }, 'second');
  run(shop.home, ['clone', '-q', '--depth', '1', `file://${shop.source}`, 'thin']);
  const source = join(shop.home, 'thin');
  const { dir } = await updateMirror({ home: shop.home, name: 'thin', from: join(source, '.git') });
  const scratchDir = await openScratch({ mirrorDir: dir, attemptId: 'a', commit: head });
  run(shop.agent, ['fetch', '-q', shop.source, head]);
  const thin = { ...shop, source, mirrorDir: dir, scratchDir, base: head };
  const story = await makeStory(thin, 'US-1', { n: '1' });
  await landCommit({ ...story, hostGitDir: dir, expected: undefined });
  expect(run(dir, ['rev-parse', ref])).toBe(story.commit);
  await landCommit({ ...story, expected: undefined });
  expect(run(source, ['rev-list', '--count', ref])).toBe('2');
});

it('runs no hook, filter or monitor of the host repository, and sends it nothing of a refused import', async () => {
  const shop = await makeWorkshop({ '.gitattributes': '* filter=evil diff=evil\n', a: '1' });
  const tripwire = join(shop.home, 'tripped');
  const script = join(shop.home, 'evil.sh');
  writeFileSync(script, `#!/bin/sh\ntouch "${tripwire}"\ncat\n`);
  chmodSync(script, 0o755);
  const hooks = join(shop.source, '.git/hooks');
  mkdirSync(hooks, { recursive: true });
  for (const name of ['reference-transaction', 'post-commit', 'pre-receive', 'update', 'post-index-change']) {
    writeFileSync(join(hooks, name), `#!/bin/sh\ntouch "${tripwire}"\n`, { mode: 0o755 });
  }
  const keys = ['core.fsmonitor', 'filter.evil.clean', 'filter.evil.smudge', 'diff.evil.textconv', 'diff.external'];
  for (const key of keys) run(shop.source, ['config', key, `"${script}"`]);
  run(shop.source, ['config', 'core.hooksPath', hooks]);
  const story = await makeStory(shop, 'US-1', { b: '2' });
  await landCommit({ ...story, expected: undefined });
  expect(existsSync(tripwire)).toBe(false);
  const packs = readdirSync(join(shop.mirrorDir, 'objects/pack')).length;
  await expect(importFrom(shop, snapshot(shop, { 'nul.txt': 'secret' }))).rejects.toMatchObject({
    code: 'POLICY_VIOLATION',
  });
  expect(readdirSync(join(shop.mirrorDir, 'objects/pack'))).toHaveLength(packs);
});

const packs = (dir: string) => readdirSync(join(dir, '.git/objects/pack'));
const kept = (dir: string) => packs(dir).filter((name) => name.endsWith('.keep'));

it('hazard 45: garbage collection removes no object of a commit that is about to land', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  const release = await transferCommit(story);
  run(shop.source, ['gc', '--prune=now', '--quiet']);
  await moveBranch({ ...story, expected: undefined });
  await release();
  expect(kept(shop.source)).toEqual([]);
  run(shop.source, ['gc', '--prune=now', '--quiet']);
  expect(run(shop.source, ['rev-list', '--objects', ref, `^${shop.base}`]).split('\n')).toHaveLength(3);
  run(shop.source, ['fsck', '--strict']);
});

it('hazard 54: lands although the commit that the story began with was replaced and removed from the repository', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  run(shop.source, ['commit', '--quiet', '--amend', '--message', 'other']);
  run(shop.source, ['reflog', 'expire', '--expire=now', '--all']);
  run(shop.source, ['gc', '--prune=now', '--quiet']);
  expect(() => run(shop.source, ['cat-file', '-e', shop.base])).toThrow();
  await landCommit({ ...story, expected: undefined });
  for (const dir of [shop.source, shop.mirrorDir]) {
    expect(run(dir, ['rev-parse', `${ref}^`])).toBe(shop.base);
    run(dir, ['fsck', '--strict']);
  }
});

it('hazard 45: commits land during continuous garbage collection', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  const stop = new AbortController();
  const cleaning = (async () => {
    while (!stop.signal.aborted)
      await promisify(execFile)('git', ['gc', '--prune=now', '--quiet'], { cwd: shop.source });
  })();
  try {
    for (let nth = 0; nth < (LEVEL >= FULL ? 15 : 5); nth += 1) {
      const { candidateDir } = story;
      const [tree, author] = [run(candidateDir, ['rev-parse', `${story.commit}^{tree}`]), { name: 'h', email: 'h@h' }];
      const date = new Date(nth * 1000);
      const commit = await createCommit({ candidateDir, tree, parent: shop.base, message: 'm', author, date });
      const each = { ...story, commit, ref: `refs/heads/halo/r${nth}` };
      const release = await transferCommit(each);
      await moveBranch({ ...each, expected: undefined });
      await release();
    }
  } finally {
    stop.abort();
    await cleaning;
  }
  run(shop.source, ['fsck', '--strict']);
  expect(kept(shop.source)).toEqual([]);
});

it('removes the temporary refs of a process that died while landing, but not those of live processes', async () => {
  const shop = await makeWorkshop();
  const story = await makeStory(shop, 'US-1', { n: '1' });
  await transferCommit(story);
  const [own = ''] = kept(shop.source);
  const theirs = 'pack-1111111111111111111111111111111111111111.keep';
  writeFileSync(join(shop.source, '.git/objects/pack', theirs), '');
  writeFileSync(
    join(shop.source, '.git/objects/pack', own),
    `halo lands a commit, ${processMark().replace(/-\d+-/, '-1-')}\n`,
  );
  const release = await transferCommit(story);
  await release();
  expect(kept(shop.source)).toEqual([theirs]);
});
