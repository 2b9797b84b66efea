import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../../src/api/http/http-server.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { diffCommits } from '../../../src/git/commit/read-commits.ts';
import { fastForward } from '../../../src/git/land/fast-forward.ts';
import { inspectRepo } from '../../../src/git/repository/inspect-repo.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { created, held } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** What a story can do so that the person who decides on it does not see its code. */

type Files = Record<string, string | Buffer>;

/** The patch of a story that writes these files, as halo gives it to people and programs. */
async function patchOf(files: Files, before: Record<string, string> = { 'a.js': 'one\n' }): Promise<Buffer> {
  const root = join(tempDir(), 'repo');
  const from = makeRepo(root, before);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  run(root, ['add', '-A']);
  run(root, ['commit', '-qm', 'x']);
  const masker = openMasker();
  masker.learn(['hunter2-of-the-machine']);
  return masker.known(await diffCommits({ gitDir: join(root, '.git'), from, to: run(root, ['rev-parse', 'HEAD']) }));
}

async function shown(patch: Buffer, words: string[] = [], terminal = {}) {
  const memory = openMemory();
  memory.addRun([created('r1', 1)]);
  const operations = { ...memory, readDiff: () => Promise.resolve(patch) };
  return runCli(['diff', 'r1', ...words], { operations, terminal });
}

describe('incident hidden-code, attack 32: code between escapes, directions and invisible characters', () => {
  it.each([
    [
      'an operating system command',
      `/* total \u001b]*/require('child_process').execSync('x')/*\u0007 in cents */`,
      `+/* total <U+001B>]*/require('child_process').execSync('x')/*<U+0007> in cents */`,
    ],
    ['an eight-bit one', 'a = 1; \u009dif(a>1000)a-=1;\u009c', '+a = 1; <U+009D>if(a>1000)a-=1;<U+009C>'],
    ['a direction override', 'if (admin\u202e /* \u2066) {', '+if (admin<U+202E> /* <U+2066>) {'],
    ['a zero-width space', 'is\u200badmin()', '+is<U+200B>admin()'],
    ['a letter that looks like nothing', 'const { \u3164 } = q', '+const { <U+3164> } = q'],
    ['a return that overwrites the line', 'evil() //\rgood()', '+evil() //<U+000D>good()'],
    ['tags', `x\u{e0065}\u{e0076}`, '+x<U+E0065><U+E0076>'],
    ['bytes that are not text', Buffer.from('caf\xe9 \x9d', 'latin1'), '+caf<0xE9> <0x9D>'],
  ])('%s is shown with the surrounding text', async (_name, content, line) => {
    const patch = await patchOf({ 'a.js': Buffer.concat([Buffer.from(content as string), Buffer.from('\n')]) });
    for (const terminal of [{}, { shown: true }]) {
      const { stdout, stderr } = await shown(patch, [], terminal);
      expect(stdout.split('\n')).toContain(line);
      if (_name !== 'bytes that are not text')
        expect(stderr).toMatch(/warning: \d hidden characters? in 1 file: a.js:1 /);
    }
  });

  it('is counted with its places, and other findings are named', async () => {
    const { stderr } = await shown(
      await patchOf({
        'a.js': 'one\ntwo\u200b\u200b\n',
        'b/b.md': '\ufeff# Tïtle 👩‍💻\r\nx\u202e\r\n',
        'logo.js': 'run()\n\u0000\n',
        'c.js': `${'x'.repeat(1001)}\n`,
      }),
    );
    expect(stderr.split('\n')).toEqual([
      'warning: 3 hidden characters in 2 files: a.js:2, b/b.md:2 (shown as <U+…>)',
      'warning: binary, not shown: logo.js',
      'warning: lines of more than 1000 characters: c.js:1',
      'Hidden characters are printed as code points; --raw prints the exact patch.',
      '',
    ]);
  });

  it('cannot imitate a header of the patch', async () => {
    const { stderr } = await shown(await patchOf({ 'a.js': '++ b/harmless\n@@ -1 +1,9 @@\nx\u200b\n' }));
    expect(stderr).toContain('1 hidden character in 1 file: a.js:3 ');
  });

  it('is shown on the screen of `halo run --ask-for-approval` with the same marks', async () => {
    const patch = await patchOf({ 'a.js': 'x\u001b]8;;evil()\u0007y\n' });
    const operations = openMemory();
    const folder = tempDir();
    writeFileSync(join(folder, 'prd.json'), '{}');
    operations.addRun([created('new-1', 1), { type: 'run.started' }, ...held('US-001')]);
    const result = await runCli(['run', 'prd.json', '--ask-for-approval'], {
      operations: { ...operations, readDiff: () => Promise.resolve(patch) },
      services: { startWorker: () => Promise.resolve({ concurrency: 1, close: () => Promise.resolve() }) },
      cwd: folder,
      ask: () => Promise.resolve('later'),
    });
    expect(result.stdout).toContain('+x<U+001B>]8;;evil()<U+0007>y');
    expect(result.stderr).toContain('2 hidden characters in 1 file: a.js:1');
  });
});

describe('incident pseudo-key: code that looks like a secret', () => {
  const key = ['-----BEGIN TEST PRIVATE KEY-----', 'process.exit(evil())', '-----END TEST PRIVATE KEY-----'];

  it('is shown and reported; only secrets that this machine knows are masked', async () => {
    const patch = await patchOf({
      'a.js': ['/*', ...key, '*/', 'const t = "ghp_0123456789012345678901234567890123456789"', ''].join('\n'),
      'b.js': 'hunter2-of-the-machine\n',
    });
    const { stdout, stderr } = await shown(patch);
    for (const line of [...key, 'const t = "ghp_0123456789012345678901234567890123456789"'])
      expect(stdout).toContain(`+${line}\n`);
    expect(stdout).toContain('+**********************\n');
    const masker = openMasker();
    const call = () => Promise.resolve(patch as never);
    const api = buildApp({ access: ownerAccess(call, 't'), masker });
    const answer = await api.inject({ url: '/v1/runs/r1/diff', headers: { authorization: 'Bearer t' } });
    expect(answer.body).toBe(patch.toString());
    expect(stderr).toContain('warning: possibly a private key: a.js:2');
    expect(stderr).toContain('warning: possibly a GitHub token: a.js:6');
  });
});

describe('the patch of a story', () => {
  it('is printed unchanged if nothing has to be escaped, also with Windows line ends and letters of all scripts', async () => {
    const patch = await patchOf({ 'a.js': 'eins\r\nzwei 漢字 ❤️\r\n', 'ä b.txt': 'é' }, { 'a.js': 'one\r\n' });
    const { stdout, stderr } = await shown(patch);
    expect(stdout).toBe(patch.toString());
    expect(stderr).toBe('');
  });

  it('shows a change of line ends', async () => {
    const { stdout } = await shown(await patchOf({ 'a.js': 'one\r\n' }));
    expect(stdout).toContain('-one\n+one<U+000D>\n');
  });

  it('is exact with --raw, and can be applied; on a terminal it is escaped', async () => {
    const patch = await patchOf({ 'a.js': Buffer.from('caf\xe9 \x1b[31m\n', 'latin1') });
    const root = join(tempDir(), 'other');
    makeRepo(root, { 'a.js': 'one\n' });
    const { stdout } = await shown(patch, ['--raw']);
    expect(stdout).toBe(patch.toString());
    run(root, ['apply', '-'], patch);
    expect((await shown(patch, ['--raw'], { shown: true })).stdout).toContain('+caf<0xE9> <U+001B>[31m\n');
  });
});

describe('incident two-names: a tag named like the branch, a folder named like another', () => {
  it('do not prevent landing', async () => {
    const root = join(tempDir(), 'one\n\nworktree two\nbranch refs/heads/other');
    const base = makeRepo(root, { a: '1\n' });
    run(root, ['switch', '-q', '-c', 'halo/r1']);
    const to = commitFiles(root, { a: '2\n' }, 'story');
    run(root, ['switch', '-q', 'main']);
    for (const tag of ['main', 'heads/main', 'HEAD', 'halo/r1']) run(root, ['tag', tag, base]);
    const { branch, gitDir } = await inspectRepo(root);
    expect(branch).toBe('main');
    expect(await fastForward({ root, gitDir, branch, to, name: 'halo/r1' })).toEqual({
      branch: 'main',
      from: base,
      to,
    });
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('2\n');
  });
});

describe('incident hostile-server: a server whose text contains terminal sequences', () => {
  const evil = '\u009d0;t\u009c\u202e\u001b[2J\u200b';
  const spelled = '<U+009D>0;t<U+009C><U+202E><U+001B>[2J<U+200B>';

  it('completes no word that a shell would execute', async () => {
    const memory = openMemory();
    memory.addRun([created('r1', 1)]);
    const [run] = (await memory.listRuns()).runs;
    const listRuns = () =>
      Promise.resolve({
        runs: ['$(id)', '`id`', 'a;id', 'a b', "a'", 'a\nid', 'r1'].map((runId) => ({ ...run!, runId })),
        omitted: { open: 0, ended: 0 },
      });
    const { stdout } = await runCli(['__complete', 'status', ''], { operations: { ...memory, listRuns } });
    expect(stdout).toMatch(/^r1\t[^\n]*\n$/);
  });

  it.each([['ls'], ['status', 'r1'], ['land', 'r1'], ['logs', 'r1'], ['approve', 'r1', '--story', 'A']])(
    'is escaped in `halo %s`, in color or not',
    async (...words) => {
      const memory = openMemory();
      memory.addRun([created('r1', 1), { type: 'run.ended', stopReason: 'SUCCESS', detail: evil }]);
      const { state, ...view } = await memory.getRun({ runId: 'r1' });
      const repo = { ...state.repo, source: evil, branch: evil };
      const said = { ...state, stopReason: evil as 'SUCCESS', repo, tip: evil, landed: { branch: evil, to: evil } };
      const operations = {
        ...memory,
        listRuns: () => Promise.resolve({ runs: [said], omitted: { open: 0, ended: 0 } }),
        getRun: () => Promise.resolve({ ...view, state: said, dir: evil }),
        land: () => Promise.resolve({ branch: evil, from: evil, to: evil }),
        approve: () => Promise.reject(new HaloError('LAND_REFUSED', evil, { hint: evil })),
      };
      for (const color of [
        { stdout: false, stderr: false },
        { stdout: true, stderr: true },
      ]) {
        const { stdout, stderr } = await runCli(words, { operations, terminal: { color } });
        const shown = (stdout + stderr).replace(/\u001b\[\d+m/g, '');
        expect(shown).toContain(spelled.slice(0, 17));
        expect(shown).not.toMatch(/(?!\n)[\p{Cc}\u202e\u200b]/u);
      }
    },
  );
});
