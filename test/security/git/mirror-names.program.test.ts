import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { mirrorPath, updateMirror } from '../../../src/git/mirror/mirror.ts';
import { repairMirror } from '../../../src/git/mirror/repair-mirror.ts';
import { mirrorName } from '../../../src/git/repository/repo-url.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

describe('incident mirror-names: a repository with the name of the mirror of another one', () => {
  it('has 128 bits of a digest of the source in its name', () => {
    expect(mirrorName('https://example.com/app')).toMatch(/^app-[0-9a-f]{32}$/);
  });

  it('is refused: it fetches nothing into the mirror, and is asked for nothing', async () => {
    const home = tempDir();
    const [one, other] = [join(home, 'one/app'), join(home, 'other/app')];
    const secret = makeRepo(one);
    makeRepo(other);
    const { dir } = await updateMirror({ home, name: 'app-155b3cea', from: join(one, '.git') });
    const asked = updateMirror({ home, name: 'app-155b3cea', from: join(other, '.git') });
    await expect(asked).rejects.toMatchObject({ code: 'GIT_FAILED' });
    // Also if it asks for a commit that is there, and for a repair, which fetches as well.
    const known = updateMirror({ home, name: 'app-155b3cea', from: join(other, '.git'), commit: secret });
    await expect(known).rejects.toMatchObject({ code: 'GIT_FAILED' });
    const repaired = repairMirror({ home, name: 'app-155b3cea', from: join(other, '.git') });
    await expect(repaired).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(run(dir, ['for-each-ref', '--format=%(objectname)'])).toBe(secret);
  });

  it('a server is sent ids of commits that came from it, and no others', async () => {
    const home = tempDir();
    const source = join(home, 'app');
    const first = makeRepo(source);
    const from = `file://${source}`;
    const { dir } = await updateMirror({ home, name: 'm', from });
    const tree = run(dir, ['rev-parse', `${first}^{tree}`]);
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
    const own = run(dir, [...identity, 'commit-tree', '-p', first, '-m', 'of a run', tree]);
    run(dir, ['update-ref', 'refs/heads/halo/run', own]);
    commitFiles(source, { b: '2' }, 'second');
    const trace = join(home, 'trace');
    vi.stubEnv('GIT_TRACE_PACKET', trace);
    await updateMirror({ home, name: 'm', from });
    const sent = readFileSync(trace, 'utf8');
    expect(sent).toContain(`have ${first}`);
    expect(sent).not.toContain(own);
  });

  it('a damaged note about the source of a mirror is made again from its name', async () => {
    const home = tempDir();
    const from = join(home, 'app/.git');
    makeRepo(join(home, 'app'));
    const name = mirrorName(from);
    await updateMirror({ home, name, from });
    const source = join(mirrorPath(home, name), '../source');
    rmSync(source);
    await updateMirror({ home, name, from });
    expect(existsSync(source)).toBe(true);
  });
});
