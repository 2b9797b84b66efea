import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NOTES_REF, readNote, writeNote } from '../../../src/git/commit/notes.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

function repository() {
  const dir = tempDir();
  const commit = makeRepo(dir);
  return { dir, gitDir: join(dir, '.git'), commit };
}

describe('writeNote', () => {
  it('keeps the text of git itself, and replaces its own note', async () => {
    const { dir, gitDir, commit } = repository();
    await writeNote({ gitDir, commit, text: '{"a":1}\n' });
    expect(run(dir, ['notes', '--ref=halo', 'show', commit])).toBe('{"a":1}');
    await writeNote({ gitDir, commit, text: 'größer\n' });
    expect((await readNote(gitDir, commit))?.text).toBe('größer\n');
    expect(run(dir, ['rev-list', '--count', NOTES_REF])).toBe('2');
    expect(run(dir, ['log', '-1', '--format=%an %ae', NOTES_REF])).toBe('halo halo@localhost');
  });

  it('loses no note if many are written concurrently', async () => {
    const { dir, gitDir } = repository();
    const commits = Array.from({ length: 6 }, (_, index) => commitFiles(dir, { [`f${index}`]: 'x' }, `c${index}`));
    await Promise.all(commits.map((commit) => writeNote({ gitDir, commit, text: `${commit}\n` })));
    expect(await Promise.all(commits.map((commit) => readNote(gitDir, commit).then((note) => note?.text)))).toEqual(
      commits.map((id) => `${id}\n`),
    );
  });

  it('keeps notes of others, and runs no hook', async () => {
    const { dir, gitDir, commit } = repository();
    const other = commitFiles(dir, { other: 'x' }, 'other');
    run(dir, ['notes', '--ref=halo', 'add', '-m', 'by hand', other]);
    mkdirSync(join(gitDir, 'hooks'), { recursive: true });
    writeFileSync(join(gitDir, 'hooks/reference-transaction'), `#!/bin/sh\ntouch ${gitDir}/ran\n`);
    chmodSync(join(gitDir, 'hooks/reference-transaction'), 0o755);
    await writeNote({ gitDir, commit, text: 'mine\n' });
    expect((await readNote(gitDir, other))?.text).toBe('by hand\n');
    expect(existsSync(join(gitDir, 'ran'))).toBe(false);
  });

  it('hazard 43: removes the lock that a power failure left, once it is too old to be held', async () => {
    const { dir, gitDir, commit } = repository();
    const other = commitFiles(dir, { other: 'x' }, 'other');
    await writeNote({ gitDir, commit: other, text: 'before\n' });
    const lock = join(gitDir, `${NOTES_REF}.lock`);
    writeFileSync(lock, '');
    const almost = Date.now() / 1000 - 29.9;
    utimesSync(lock, almost, almost);
    await writeNote({ gitDir, commit, text: 'after\n' });
    expect((await readNote(gitDir, commit))?.text).toBe('after\n');
    expect(existsSync(lock)).toBe(false);
  });

  it('reports a commit without a note', async () => {
    const { gitDir, commit } = repository();
    expect(await readNote(gitDir, commit)).toBeUndefined();
  });

  it('signs the notes with an ssh key', async () => {
    const { dir, gitDir, commit } = repository();
    const key = join(tempDir('halo key'), 'id');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'halo', '-f', key]);
    for (const text of ['one\n', 'two\n']) await writeNote({ gitDir, commit, text, key: { path: key } });
    expect((await readNote(gitDir, commit))?.text).toBe('two\n');
    expect(run(dir, ['cat-file', 'commit', NOTES_REF])).toContain('gpgsig -----BEGIN SSH SIGNATURE-----');
    expect(run(dir, ['for-each-ref', 'refs/halo'])).toBe('');
  });
});
