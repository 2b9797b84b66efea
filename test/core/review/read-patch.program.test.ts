import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printedLine, readPatch, toChangedFiles, type Patch } from '../../../src/core/review/read-patch.ts';
import { diffCommits } from '../../../src/git/commit/read-commits.ts';
import { readDiff } from '../../../src/tui/diff/read-diff.ts';
import { describeFile } from '../../../src/web/review/diff-rows.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';
import fc from '../../support/fast-check.ts';

/** The patch that halo makes of a change to a repository. */
async function patchOf(before: Record<string, string>, change: (at: (path: string) => string) => void) {
  const root = join(tempDir(), 'repo');
  const from = makeRepo(root, before);
  change((path) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  });
  run(root, ['add', '-A']);
  run(root, ['commit', '-qm', 'x']);
  return diffCommits({ gitDir: join(root, '.git'), from, to: run(root, ['rev-parse', 'HEAD']) });
}

function printed({ lines }: Pick<Patch, 'lines'>): string {
  return lines.map((line) => `${printedLine(line)}${line.returns ? '\r' : ''}\n`).join('');
}

const HUNDRED = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join('');

describe('a patch of git', () => {
  it('has its files, with what happened to each, and prints as it was', async () => {
    const before = {
      'moved.txt': HUNDRED,
      'same-content.txt': `${HUNDRED}x\n`,
      'gone.txt': 'a\nb\n',
      'mode.sh': 'echo\n',
      'windows.txt': 'one\r\ntwo\r\n',
      'cut.txt': 'old end',
      'sql.txt': '-- a comment\nx\n',
    };
    const patch = await patchOf(before, (at) => {
      renameSync(at('moved.txt'), at('to/moved here.txt'));
      writeFileSync(at('to/moved here.txt'), `${HUNDRED}more\n`);
      renameSync(at('same-content.txt'), at('to/same-content.txt'));
      rmSync(at('gone.txt'));
      chmodSync(at('mode.sh'), 0o755);
      writeFileSync(at('windows.txt'), 'one\r\nthree\r\n');
      writeFileSync(at('cut.txt'), 'new end');
      writeFileSync(at('sql.txt'), '++ b/harmless\n@@ -1 +1,9 @@\ndiff --git a/x b/x\n');
      writeFileSync(at('logo.png'), 'a\0b');
      writeFileSync(at('empty.txt'), '');
      symlinkSync('../etc/passwd', at('link'));
      writeFileSync(at('run.sh'), 'echo\n', { mode: 0o755 });
    });
    const read = readPatch(patch.toString());
    expect(printed(read)).toBe(patch.toString());
    expect(read.notes).toEqual([]);
    const files = read.files.map(({ path, from, status, hunks, added, removed }, index) => {
      const notes = describeFile(read.files[index]!).join(' ');
      return [from === undefined ? path : `${from} > ${path}`, status, hunks.length, added, removed, notes];
    });
    expect(files).toEqual([
      ['cut.txt', 'changed', 1, 1, 1, ''],
      ['empty.txt', 'added', 0, 0, 0, ''],
      ['gone.txt', 'removed', 1, 0, 2, ''],
      ['link', 'added', 1, 1, 0, 'It is a link.'],
      ['logo.png', 'added', 0, 0, 0, 'It is a binary file.'],
      ['mode.sh', 'changed', 0, 0, 0, 'Its mode was 100644. Its mode is 100755.'],
      ['run.sh', 'added', 1, 1, 0, 'It is executable.'],
      ['sql.txt', 'changed', 1, 3, 2, ''],
      ['moved.txt > to/moved here.txt', 'renamed', 1, 1, 0, ''],
      ['same-content.txt > to/same-content.txt', 'renamed', 0, 0, 0, ''],
      ['windows.txt', 'changed', 1, 1, 1, 'Its lines end with CR LF.'],
    ]);
    expect(toChangedFiles(read.files)[0]).toEqual({ path: 'cut.txt', hunks: 1, added: 1, removed: 1 });
    const [cut] = read.files;
    expect(cut?.hunks[0]?.lines).toEqual([
      { kind: 'removed', mark: '-', text: 'old end', old: 1, isCut: true },
      { kind: 'added', mark: '+', text: 'new end', new: 1, isCut: true },
    ]);
    expect(read.files.at(-1)?.hunks[0]?.lines[0]).toMatchObject({ text: 'one', returns: true, old: 1, new: 1 });
  });

  it.each([
    'with blanks.txt',
    'tab\tand "quotes".txt',
    'line\nbreak.txt',
    'return\r.txt',
    'back\\slash',
    'ümläut – 文.txt',
    'ümläut\t文.txt',
    'a b/a b/c b/d',
    'separator\u2028.txt',
    '\u0001\u001b[31m.txt',
    ' leading',
    'trailing ',
  ])('names a file %j, with and without lines', async (path) => {
    const patch = await patchOf({ a: 'a\n', [`old ${path}`]: HUNDRED }, (at) => {
      writeFileSync(at(`new/${path}`), 'x\n');
      writeFileSync(at(`empty/${path}`), '');
      renameSync(at(`old ${path}`), at(`renamed/${path}`));
    });
    const read = readPatch(patch.toString());
    expect(read.files.map((file) => file.path)).toEqual([`empty/${path}`, `new/${path}`, `renamed/${path}`]);
    expect(read.files.at(-1)?.from).toBe(`old ${path}`);
    expect(printed(read)).toBe(patch.toString());
  });

  it('names a file whose name is not quoted as halo asks for, in bytes', () => {
    const patch = 'diff --git "a/\\303\\274\\tx" "b/\\303\\274\\tx"\nnew file mode 100644\nindex 0000000..e69de29\n';
    expect(readPatch(patch).files[0]?.path).toBe('ü\tx');
  });
});

describe('a damaged or unusual patch', () => {
  const HEAD = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n';

  it.each([
    ['nothing', ''],
    ['one line end', '\n'],
    ['no line end', `${HEAD}@@ -1 +1 @@\n-a\n+b`],
    ['a note that it is cut off', `halo: this patch is cut off\n${HEAD}@@ -1,9 +1,9 @@\n-a`],
    ['a combined diff', 'diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n'],
    ['a hunk without its file', '@@ -1 +1 @@\n-a\n+b\n'],
    ['empty lines without a sign', `${HEAD}@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n`],
    ['numbers that no file has', `${HEAD}@@ -1,99999999999999999999 +99999999999999999999 @@\n+a\n`],
    ['a name without its end', 'diff --git "a/x\\\n+++ "b/\\\n'],
    ['no name', 'diff --git \n+++ \n--- \nrename from \n'],
  ])('prints as it was: %s', (_name, patch) => {
    const whole = patch === '' || patch.endsWith('\n') ? patch : `${patch}\n`;
    expect(printed(readPatch(patch))).toBe(whole);
    expect(printed(readDiff(Buffer.from(patch)))).toBe(whole);
  });

  it('is one that halo has cut off: its note is not a part of a file', () => {
    const { notes, files } = readPatch(`halo: this patch is cut off\n${HEAD}@@ -1,9 +1,9 @@\n-a\n`);
    expect(notes).toEqual(['halo: this patch is cut off']);
    expect(files).toMatchObject([{ path: 'x', removed: 1 }]);
  });

  it('hides no line and no file by counts that are wrong, and none by a masked sign', () => {
    const next = 'diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-evil\n';
    for (const counts of ['-0,0 +0,0', '-1,999999 +1,999999', '-1 +1']) {
      const { files } = readPatch(`${HEAD}@@ ${counts} @@\n+a\n*****\n+b\n${next}`);
      expect(files.map(({ path, added, removed }) => [path, added, removed])).toEqual([
        ['x', 2, 0],
        ['y', 0, 1],
      ]);
      expect(files[0]?.hunks[0]?.lines.map(({ text }) => text)).toEqual(['a', '****', 'b']);
    }
  });

  it('never loses a byte of a text, whatever it is', () => {
    const part = fc.constantFrom(
      'diff --git a/x b/x',
      '@@ -1,2 +1,2 @@ f',
      '--- a/x',
      '+++ "b/\\t\\1"',
      '\\ No newline at end of file',
      '+a\r',
      ' b\r',
      '-c',
      'Binary files a/x and b/x differ',
      '',
      '\r',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), (lines) => {
        const patch = lines.map((line) => `${line.replaceAll('\n', '')}\n`).join('');
        expect(printed(readPatch(patch))).toBe(patch);
      }),
      { numRuns: 500 },
    );
  });

  it('of many or long parts takes little processor time', () => {
    const timeOf = (patch: string) => {
      const { user } = process.cpuUsage();
      readPatch(patch);
      return (process.cpuUsage().user - user) / 1000;
    };
    const bytes = 1024 * 1024;
    for (const line of ['+\n', `+${'"\\'.repeat(5000)}\n`, '@@ -1 +1 @@\n', 'diff --git "a/\\t" "b/\\t"\n']) {
      const text = HEAD + line.repeat(bytes / line.length);
      expect(timeOf(text), JSON.stringify(line.slice(0, 20))).toBeLessThan(2000);
    }
    const long = (name: string) => `diff --git ${name} ${name}\n+++ ${name}\n`;
    expect(timeOf(long(`"${'\\303'.repeat(bytes / 8)}"`))).toBeLessThan(2000);
    expect(timeOf(`${HEAD}@@ -1 +1 @@ ${' '.repeat(bytes)}\n+${'x'.repeat(bytes)}\r\n`)).toBeLessThan(2000);
  });
});
