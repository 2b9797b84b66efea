import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { sweepTemporary } from '../../../src/git/mirror/mirror-upkeep.ts';
import { commitFiles, makeRepo, run, runBytes } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

async function makeMirror() {
  const home = tempDir();
  const root = join(home, 'src');
  const base = makeRepo(root);
  const source = { home, name: 'm', from: join(root, '.git') };
  const { dir } = await updateMirror({ ...source, commit: base });
  return { root, source, dir, base };
}

function age(path: string, ms: number): string {
  const at = new Date(Date.now() - ms);
  utimesSync(path, at, at);
  return path;
}

function leave(path: string, ms: number): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  return age(path, ms);
}

describe('hazard 49: leftovers of git in a repository of halo', () => {
  it('are removed when no git process can use them any more: a pack whose sender closed the connection', async () => {
    const { root, dir, base } = await makeMirror();
    const pack = runBytes(root, ['pack-objects', '--revs', '--stdout', '-q'], `${base}\n`);
    const indexing = spawn('git', ['index-pack', '--stdin'], { cwd: dir, stdio: ['pipe', 'ignore', 'ignore'] });
    indexing.stdin.end(pack.subarray(0, pack.length - 30));
    await once(indexing, 'close');
    const packs = join(dir, 'objects/pack');
    const [left = ''] = readdirSync(packs).filter((name) => name.startsWith('tmp_pack_'));
    expect(left).not.toBe('');
    // Another process may be at it.
    expect(await sweepTemporary(dir)).toEqual([]);
    age(join(packs, left), 1.1 * HOUR_MS);
    expect(await sweepTemporary(dir)).toEqual([join(packs, left)]);
    run(dir, ['fsck', '--strict']);
    expect(run(dir, ['rev-parse', `refs/halo/base/${base}`])).toBe(base);
  });

  it('is removed with stale locks that block other writers', async () => {
    const { root, source, dir } = await makeMirror();
    const next = commitFiles(root, { new: '1' }, 'next');
    const lock = leave(join(dir, 'refs/halo/base', `${next}.lock`), 3 * MINUTE_MS);
    const more = [
      leave(join(dir, 'config.lock'), 3 * MINUTE_MS),
      leave(join(dir, 'objects/ab/tmp_obj_x1'), 2 * HOUR_MS),
      leave(join(dir, 'objects/pack/tmp_pack_halo_0123456789ab'), 2 * HOUR_MS),
    ];
    const young = [leave(join(dir, 'HEAD.lock'), 0), leave(join(dir, 'shallow.lock'), 3 * MINUTE_MS)];
    expect((await sweepTemporary(dir)).sort()).toEqual([lock, ...more].sort());
    expect(young.map((path) => existsSync(path))).toEqual([true, true]);
    await updateMirror({ ...source, commit: next });
    expect(run(dir, ['rev-parse', `refs/halo/base/${next}`])).toBe(next);
  });

  it('do not exist without a repository', async () => {
    expect(await sweepTemporary(join(tempDir(), 'gone.git'))).toEqual([]);
  });
});
