import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fastForward } from '../../../src/git/land/fast-forward.ts';
import { NOTES_REF, writeNote } from '../../../src/git/commit/notes.ts';
import { readParents } from '../../../src/git/commit/read-commits.ts';
import { findLandedCommit } from '../../../src/git/land/land-commit.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

let root: string;
let gitDir: string;
let base: string;
beforeEach(() => {
  root = join(tempDir(), 'shop');
  gitDir = join(root, '.git');
  base = makeRepo(root, { '.gitignore': 'local.json\ndata/\ncache\n', 'a.txt': 'a\n', 'b.txt': 'b\n' });
});

describe('incident ignored-files: a story adds files with the paths of ignored files in the checkout', () => {
  it.each([
    ['a file', 'local.json', 'local.json'],
    ['a folder in the place of a file', 'cache', 'cache/x'],
    ['a file in the place of a folder', 'data/db', 'data'],
  ])('does not overwrite them: %s', async (_what, own, added) => {
    run(root, ['switch', '-q', '-c', 'halo/r1']);
    const to = commitFiles(root, { '.gitignore': '', [added]: 'of the story\n' }, 'story');
    run(root, ['switch', '-q', 'main']);
    mkdirSync(join(root, 'data'), { recursive: true });
    writeFileSync(join(root, own), 'mine\n');
    await expect(fastForward({ root, gitDir, branch: 'main', to })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(readFileSync(join(root, own), 'utf8')).toBe('mine\n');
    expect(run(root, ['rev-parse', 'main'])).toBe(base);
  });

  it('does not overwrite files that git is configured to skip', async () => {
    run(root, ['switch', '-q', '-c', 'halo/r1']);
    const to = commitFiles(root, { 'a.txt': 'A\n', 'b.txt': 'B\n' }, 'story');
    run(root, ['switch', '-q', 'main']);
    run(root, ['update-index', '--assume-unchanged', 'a.txt']);
    run(root, ['update-index', '--skip-worktree', 'b.txt']);
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(root, name), 'mine\n');
    await expect(fastForward({ root, gitDir, branch: 'main', to })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(readFileSync(join(root, 'a.txt'), 'utf8') + readFileSync(join(root, 'b.txt'), 'utf8')).toBe('mine\nmine\n');
  });
});

describe('incident other-history: settings and files of a repository that make git read other history', () => {
  it('do not hide a passed story', async () => {
    const message = 'feat: x\n\nHalo-Run: r1\nHalo-Story: US-1\nHalo-Story-Key: us-1\nHalo-Attempt: 1\n';
    const landed = run(root, ['commit-tree', '-p', base, `${base}^{tree}`], message);
    run(root, ['update-ref', 'refs/heads/halo/r1', landed]);
    const story = { id: 'US-1', key: 'us-1' };
    const query = { hostGitDir: gitDir, ref: 'refs/heads/halo/r1', base, runId: 'r1', story, others: [] };
    const settings = [
      ...['trailer.separators==', 'core.commentChar=H', 'i18n.logOutputEncoding=UTF-16', 'trailer.halo-run.key=Other'],
      ...['log.showSignature=true', 'color.ui=always', 'log.graphColors=red', 'format.pretty=raw', 'log.mailmap=true'],
    ];
    for (const setting of settings) {
      const [key = '', value = ''] = [setting.slice(0, setting.indexOf('=')), setting.slice(setting.indexOf('=') + 1)];
      run(root, ['config', key, value]);
      expect([setting, await findLandedCommit(query)]).toEqual([setting, landed]);
    }
    expect(await findLandedCommit({ ...query, runId: 'r2' })).toBeUndefined();
  });

  it('do not give a commit other parents', async () => {
    const other = run(root, ['commit-tree', `${base}^{tree}`], 'other');
    const commit = commitFiles(root, { 'a.txt': 'A\n' }, 'second');
    mkdirSync(join(gitDir, 'info'), { recursive: true });
    writeFileSync(join(gitDir, 'info', 'grafts'), `${commit} ${other}\n`);
    run(root, ['replace', '-f', commit, base]);
    expect(await readParents(gitDir, commit)).toEqual([base]);
  });
});

describe('incident ref-alias: a ref of halo is another name of a branch of the user', () => {
  it('notes are not written, and the branch does not move', async () => {
    run(root, ['symbolic-ref', NOTES_REF, 'refs/heads/main']);
    const message = expect.stringContaining('is a symbolic ref to refs/heads/main') as string;
    const request = { gitDir, commit: base, text: 'a' };
    await expect(writeNote(request)).rejects.toMatchObject({ code: 'GIT_FAILED', message });
    expect(run(root, ['rev-parse', 'refs/heads/main'])).toBe(base);
  });
});
