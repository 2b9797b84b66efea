import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storyFacts } from '../../../src/view/facts.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

let halo: TestHalo;

beforeAll(async () => {
  halo = await openHalo();
});
afterAll(() => halo.close());

const run = (repository: TestRepository, settings: string[]) => halo.run(repository.root, [{ id: 'US-001' }], settings);

/** The paths that a run has changed, with their states. */
function changesOf(repository: TestRepository, runId: string): string[] {
  const lines = repository.git('diff', '--name-status', '--no-renames', 'main', `halo/${runId}`);
  return lines === '' ? [] : lines.split('\n').map((line) => line.replace('\t', ' '));
}

/** Files with CRLF that `git add` would convert, and a folder with a mode that git would write differently. */
function withOldEntries(): TestRepository {
  const repository = newRepository({ 'old.cs': 'a\r\nb\r\n', '.github/workflows/ci.yml': 'a\r\n', 'sub/f': 'a\n' });
  const id = Buffer.from(repository.git('rev-parse', 'HEAD:sub/f'), 'hex');
  writeFileSync(join(repository.root, 'tree'), Buffer.concat([Buffer.from('100664 f\0'), id]));
  const sub = repository.git('hash-object', '-t', 'tree', '-w', '--literally', 'tree');
  const list = repository.git('ls-tree', 'HEAD').replace(/tree [0-9a-f]+\tsub$/m, `tree ${sub}\tsub`);
  writeFileSync(join(repository.root, 'tree'), `${list}\n`);
  const tree = repository.git('-c', 'alias.from=!git mktree < tree', 'from');
  repository.git('reset', '-q', '--hard', repository.git('commit-tree', tree, '-p', 'HEAD', '-m', 'odd'));
  repository.write('.gitattributes', '*.cs text eol=crlf\n*.yml text eol=crlf\n');
  repository.git('add', '.gitattributes');
  repository.git('commit', '-qm', 'attributes');
  return repository;
}

describe('the change of a story', () => {
  it.each([
    ['entries that git would write differently', withOldEntries, []],
    [
      'what setup leaves and changes',
      () => newRepository({ 'tracked.txt': 'a\n', '.gitignore': 'node_modules/\n' }),
      [
        'setup=["echo made > package-lock.json; echo more >> tracked.txt; git init -q vendored", "ln -s /usr/local/lib/node_modules node_modules"]',
      ],
    ],
  ])('has nothing of %s', async (_what, open, settings) => {
    const repository = open();
    const state = await run(repository, scripted(`echo hello > new.txt; ${OK}`, ['test -e new.txt'], settings));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(changesOf(repository, state.runId)).toEqual(['A new.txt']);
    const idle = await run(repository, scripted(OK, ['true'], [...settings, 'land.unchanged="fail"']));
    expect(idle).toMatchObject({ stopReason: 'INVALID_OUTPUT', tip: idle.repo.base });
  });

  it('has a converted file that the agent changes, and a file of setup that it changes', async () => {
    const repository = withOldEntries();
    const settings = ['setup=["echo made > made.txt; echo made > left.txt"]'];
    const agent = `printf 'e\\r\\n' >> old.cs; echo more >> made.txt; ${OK}`;
    const state = await run(repository, scripted(agent, ['true'], settings));
    expect(changesOf(repository, state.runId)).toEqual(['A made.txt', 'M old.cs']);
  });

  it('has nothing of setup, also when the agent stops ignoring it, but has a folder that the agent moves', async () => {
    const repository = newRepository({ '.gitignore': 'out/\n', 'lib/a.js': 'a\n', 'lib/b.js': 'b\n' });
    const settings = ['setup=["mkdir -p out; echo made > out/made.txt; echo made > out/b.js"]'];
    const agent = `echo '*.tmp' > .gitignore; echo x > out/new.txt; mv lib src; mv src/b.js out/b.js; ${OK}`;
    const state = await run(repository, scripted(agent, ['true'], settings));
    expect(changesOf(repository, state.runId)).toEqual([
      'M .gitignore',
      'D lib/a.js',
      'D lib/b.js',
      'A out/b.js',
      'A out/new.txt',
      'A src/a.js',
    ]);
  });

  it('has files that keep their size and times', async () => {
    const repository = newRepository({ 'f.txt': 'aaaa\n' });
    const old = 'touch -d 2001-01-01 f.txt made.txt';
    const agent = `echo cccc > f.txt; echo dddd > made.txt; ${old}; ${OK}`;
    const state = await run(repository, scripted(agent, ['true'], [`setup=["echo bbbb > made.txt; ${old}"]`]));
    expect(changesOf(repository, state.runId)).toEqual(['M f.txt', 'A made.txt']);
  });

  it('is not awaited if setup leaves a file that cannot be read', async () => {
    const settings = ['setup=["echo 1 > closed; chmod 000 closed"]'];
    const state = await run(newRepository(), scripted(OK, ['true'], settings));
    expect(state.stories[0]).toMatchObject({
      lastFailure: { cause: 'setup-failed' },
      summary: expect.stringContaining('after setup, the workspace cannot be read: error: open("closed")') as string,
    });
  });

  it('is read without the programs of a repository that setup has left', async () => {
    const repository = newRepository();
    const commit = 'git -c user.name=n -c user.email=e -C vendored commit -q --allow-empty -m x';
    const settings = [`setup=["git init -q vendored; ${commit}"]`];
    const program = "printf '#!/bin/sh\\nrm -rf /tmp/export.git\\n' > vendored/.git/evil; chmod +x vendored/.git/evil";
    const agent = `${program}; git -C vendored config core.fsmonitor "$PWD/vendored/.git/evil"; echo x > new.txt; ${OK}`;
    const state = await run(repository, scripted(agent, ['true'], settings));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(changesOf(repository, state.runId)).toEqual(['A new.txt']);
  });

  it('names new files that git ignores, with the rule, in the log, the facts and the next prompt', async () => {
    const repository = newRepository({ '.gitignore': '*.tmp\nlib/\n', 'index.js': '' });
    const settings = ['setup=["mkdir -p cache.tmp; echo 1 > cache.tmp/a"]', 'retry.attempts=2'];
    const agent = `mkdir -p lib node_modules/x; echo 1 > lib/y.js; echo 1 > cache.tmp/b; echo 1 > index.js; ${OK}`;
    const state = await run(repository, scripted(agent, ['test -e lib/y.js'], settings));
    expect(state).toMatchObject({ stopReason: 'ATTEMPTS_EXHAUSTED' });
    const ignored = [{ path: 'lib/y.js', rule: '.gitignore:2 `lib/`' }];
    const noted = halo.journal(state.runId).filter(({ type }) => type === 'files.noted');
    expect(noted).toMatchObject([{ ignored }, { ignored }]);
    expect(storyFacts(state.stories[0]!).map(({ value }) => value)).toContain(
      'git ignores new files, which are not part of the change: lib/y.js (.gitignore:2 `lib/`)',
    );
    const prompt = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/2/prompt.md`);
    expect(prompt).toContain('lib/y.js: ignored by .gitignore:2 `lib/`');
  });

  it('cannot contain a repository, and says what to do', async () => {
    const repository = newRepository();
    const state = await run(repository, scripted(`git init -q app; echo '{}' > app/package.json; ${OK}`));
    expect(state).toMatchObject({ stopReason: 'POLICY_VIOLATION' });
    expect(state.stories[0]!.summary).toContain('app/ is a git repository or worktree of its own');
    expect(state.stories[0]!.summary).toContain('remove app/.git');
  });

  it('cannot contain what may not be read, and says what to do', async () => {
    const repository = newRepository();
    const long = 'p=$(printf %0200d 0); p=long/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p/$p; mkdir -p $p';
    const many = 'for i in $(seq 30); do echo 1 > $p/$i; chmod 000 $p/$i; done';
    const agent = `mkdir lost; echo 1 > lost/a; echo 1 > b; echo 1 > c; ${long}; ${many}; chmod 000 lost b; ${OK}`;
    const setup = ['setup=["mkdir -p old build/empty && chmod 000 old && chmod 600 build/empty"]', 'retry.attempts=2'];
    const state = await run(repository, scripted(agent, ['true'], setup));
    expect(state).toMatchObject({ stopReason: 'ATTEMPTS_EXHAUSTED' });
    expect(state.stories[0]!.summary).toMatch(/^b, long.*cannot be read, so .* `chmod u\+rwX`/s);
    const prompt = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/2/prompt.md`);
    expect(prompt).toContain('cannot be read, so the change is not complete');
  });
});

it('builds on the tags of its history and the branch that it started from, and on no other refs', async () => {
  const repository = newRepository();
  repository.git('-c', 'user.name=a', '-c', 'user.email=b', 'tag', '-a', '-m', 'first', 'v1.0.0');
  repository.git('tag', 'plain');
  repository.git('checkout', '-q', '-b', 'other');
  repository.write('x', 'x');
  repository.commit('other');
  repository.git('tag', 'elsewhere');
  repository.git('checkout', '-q', 'main');
  const refs = `git for-each-ref --format='%(objecttype) %(refname)' > /tmp/refs; cat /tmp/refs`;
  const gates = [
    `${refs}; git describe | grep -q '^v1.0.0-1-' && git diff --name-only origin/main | grep -x new.txt`,
    'git fsck --no-dangling && git describe --tags',
  ];
  const agent = `git describe > new.txt; ${OK}`;
  const state = await run(repository, scripted(agent, gates));
  expect(state).toMatchObject({ stopReason: 'SUCCESS' });
  expect(repository.git('show', `halo/${state.runId}:new.txt`)).toBe('v1.0.0');
  const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/gates/1.log`);
  expect(log.split('\n').slice(0, 4)).toEqual([
    'commit refs/heads/halo',
    'commit refs/remotes/origin/main',
    'commit refs/tags/plain',
    'tag refs/tags/v1.0.0',
  ]);
});
