import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { openHome } from '../../support/halo/halo-process.ts';
import { test as base } from '../../support/fixtures.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { tempDir } from '../../support/temp-dir.ts';

let serial = 0;
const ROOT = resolve(import.meta.dirname, '../../..');
const HASH = 'a'.repeat(64);

/** The record of a commit, as a run writes it. */
function recordOf(git: (...args: string[]) => string, commit: string) {
  const [tree = '', parent = ''] = git('log', '-1', '--format=%T %P', commit).trim().split(' ');
  return {
    v: 1,
    commit,
    base: parent,
    tree,
    run: '0abc0abc0abc0ab',
    story: { id: 'US-001', title: 'Pay', attempt: 1 },
    prd: { hash: HASH, specHash: HASH },
    image: { name: 'halo-sandbox', id: `sha256:${HASH}` },
    agent: { name: 'codex' },
    setup: [],
    env: {},
    allow: [],
    registries: [],
    gates: [{ command: 'npm test', exitCode: 0, ms: 10, sha256: HASH }],
    usage: { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 },
    halo: '0.1.0',
    startedAt: '2030-01-01T00:00:00.000Z',
    provenAt: '2030-01-01T00:00:00.000Z',
  };
}

const test = base
  .extend('haloHome', ({}, { onCleanup }) => {
    const home = openHome();
    onCleanup(() => home.close());
    return home;
  })
  .extend(
    'call',
    ({ haloHome }) =>
      (words: string[], { cwd, env }: { cwd: string; env?: Record<string, string> }) =>
        callHalo(words, { cwd, env: { HALO_HOME: haloHome.dir, ...env } }),
  )
  .extend('commits', ({ repository }) => {
    const git = (...args: string[]) => repository.git(...args);
    const commit = (message: string) => {
      writeFileSync(join(repository.root, 'file.txt'), `${message} ${(serial += 1)}`);
      git('add', '-A');
      git('commit', '-q', '-m', message);
      return git('rev-parse', 'HEAD').trim();
    };
    const note = (of: string, record: object) =>
      void git('notes', '--ref=halo', 'add', '-f', '-m', JSON.stringify(record), of);
    const ofHalo = () => commit('Pay\n\nHalo-Run: 0abc0abc0abc0ab\nHalo-Story-Key: us-001');
    return { git, commit, note, ofHalo, base: git('rev-parse', 'HEAD').trim() };
  });

describe('halo verify --ci', () => {
  test('accepts commits with their proof and commits of people, a line each', async ({ call, repository, commits }) => {
    const [proven, human] = [commits.ofHalo(), commits.commit('by hand')];
    commits.note(proven, recordOf(commits.git, proven));
    const { code, stdout } = await call(['verify', '--ci', `${commits.base}..HEAD`], { cwd: repository.root });
    expect(code).toBe(0);
    expect(stdout).toBe(
      `✓ ${proven.slice(0, 12)}  proven   US-001, 1 gates\n· ${human.slice(0, 12)}  human    not from halo\n1 proven, 1 of people, 0 refused\n`,
    );
    const strict = await call(['verify', '--ci', `${commits.base}..HEAD`, '--require-proof'], {
      cwd: repository.root,
    });
    expect([strict.code, strict.stdout]).toEqual([10, expect.stringContaining('refused  it has no proof')]);
  });

  test('refuses commits that name a run and have no proof, or that of something else', async ({
    call,
    repository,
    commits,
  }) => {
    const [none, copied, changed, broken] = [commits.ofHalo(), commits.ofHalo(), commits.ofHalo(), commits.ofHalo()];
    commits.note(copied, recordOf(commits.git, none));
    commits.note(changed, { ...recordOf(commits.git, changed), tree: recordOf(commits.git, none).tree });
    commits.note(broken, { v: 1 });
    const { code, stdout } = await call(['verify', '--ci', '--json', `${commits.base}..HEAD`], {
      cwd: repository.root,
    });
    expect(code).toBe(10);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { commit: string; kind: string; says: string });
    expect(rows.map(({ kind }) => kind)).toEqual(Array(4).fill('refused'));
    expect(rows.map(({ says }) => says)).toEqual([
      'it names the run 0abc0abc0abc0ab, and has no proof in refs/notes/halo',
      `its proof is that of ${none.slice(0, 12)}`,
      'its proof is that of another tree or parent',
      expect.stringContaining('its proof cannot be read:'),
    ]);
  });

  test('requires the signature of an allowed signer where signers are configured', async ({
    call,
    haloHome: home,
    repository,
    commits,
  }) => {
    const proven = commits.ofHalo();
    commits.note(proven, recordOf(commits.git, proven));
    const signers = join(home.dir, 'signers');
    writeFileSync(
      signers,
      'halo namespaces="git" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKuGjGiYBcGbyMOyhHmVvGLGNbvMtQ6aGVvMxmbrJnHH\n',
    );
    writeFileSync(join(home.dir, 'config.toml'), `[git]\nallowed_signers = ${JSON.stringify(signers)}\n`);
    const { code, stdout } = await call(['verify', '--ci', `${commits.base}..HEAD`], { cwd: repository.root });
    expect([code, stdout]).toEqual([10, expect.stringContaining('signature of commit: unsigned')]);
  });

  test('finds the range in the variables of CI systems, and says how to name it', async ({
    call,
    repository,
    commits,
  }) => {
    commits.commit('by hand');
    const at = { cwd: repository.root };
    commits.git('update-ref', 'refs/remotes/origin/main', commits.base);
    for (const env of [{ GITHUB_BASE_REF: 'main' }, { CI_MERGE_REQUEST_DIFF_BASE_SHA: commits.base }])
      expect((await call(['verify', '--ci'], { ...at, env })).stdout).toContain('0 proven, 1 of people, 0 refused');
    const none = await call(['verify', '--ci'], at);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('No range of commits is known.')]);
    expect((await call(['verify', '--ci', '--upload-pack=x'], at)).code).toBe(2);
    for (const words of [
      ['--pre-receive', 'HEAD'],
      ['--ci', '--pre-receive', 'a..b'],
      ['--ci', '--trust-proof', 'a..b'],
    ])
      expect((await call(['verify', ...words], at)).code).toBe(2);
    expect((await call(['verify'], at)).stderr).toContain('No run or commit is named.');
  });

  test('admits a push to a repository only with proofs, as its pre-receive hook', ({
    haloHome: home,
    repository,
    commits,
  }) => {
    const server = tempDir('server');
    execFileSync('git', ['init', '-q', '--bare', server]);
    execFileSync('git', ['-C', repository.root, 'push', '-q', server, 'main']);
    const hook = join(server, 'hooks/pre-receive');
    writeFileSync(hook, `#!/bin/sh\nHALO_HOME=${home.dir} exec ${join(ROOT, 'bin/halo')} verify --ci --pre-receive\n`);
    chmodSync(hook, 0o755);
    const push = (...refs: string[]) => {
      const { status, stderr } = spawnSync('git', ['-C', repository.root, 'push', server, ...refs], {
        encoding: 'utf8',
      });
      return { status, stderr };
    };
    commits.commit('by hand');
    const first = push('main');
    expect(first.status, first.stderr).toBe(0);
    const proven = commits.ofHalo();
    const refused = push('main');
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('has no proof in refs/notes/halo')]);
    expect(execFileSync('git', ['-C', server, 'rev-parse', 'main'], { encoding: 'utf8' })).not.toContain(proven);
    commits.note(proven, recordOf(commits.git, proven));
    const both = push('main', 'refs/notes/halo');
    expect(both.status, both.stderr).toBe(0);
    expect(both.stderr).toContain('1 proven, 0 of people, 0 refused');
    commits.ofHalo();
    expect(push('HEAD:refs/heads/other').status).toBe(1);
    expect(push(':main').status, 'a branch may be removed').toBe(0);
  });
});
