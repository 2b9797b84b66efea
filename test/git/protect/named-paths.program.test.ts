import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { findNamedPaths } from '../../../src/git/protect/named-paths.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { leaveGitLauncher } from '../../support/suite/git-launcher.ts';

beforeAll(leaveGitLauncher);

const FILES = {
  'README.md': '',
  'tools/hooks/pre-commit': '',
  'tools/lint.sh': '',
  'test/a.test.ts': '',
  'docs/x.md': '',
  'team.gitconfig': '[alias]\n\tst = status\n',
  'run.sh': '',
};

/** What a repository with these settings names, as `path: setting`. */
async function named(settings: [key: string, value: string][], files: Record<string, string> = FILES) {
  const root = join(tempDir(), 'shop');
  const commit = makeRepo(root, files);
  for (const [key, value] of settings) run(root, ['config', '--add', key, value.replaceAll('ROOT', root)]);
  const found = await findNamedPaths({ root, gitDir: join(root, '.git'), commit });
  return found.map(({ path, setting }) => `${path}: ${setting}`);
}

it.each<[string, [key: string, value: string], string[]]>([
  ['hooks', ['core.hooksPath', 'tools/hooks'], ['tools/hooks: core.hookspath']],
  ['hooks that are still to come', ['core.hooksPath', './new/hooks/'], ['new/hooks: core.hookspath']],
  ['hooks by a whole path', ['core.hooksPath', 'ROOT/tools/hooks'], ['tools/hooks: core.hookspath']],
  ['attributes', ['core.attributesFile', 'attributes'], ['attributes: core.attributesfile']],
  ['an included file', ['include.path', '../team.gitconfig'], ['team.gitconfig: include.path']],
  ['one that is not there yet', ['include.path', '../later.gitconfig'], ['later.gitconfig: include.path']],
  ['one under a condition', ['includeIf.onbranch:x.path', '../later'], ['later: include.path']],
  ['fsmonitor', ['core.fsmonitor', 'tools/lint.sh'], ['tools/lint.sh: core.fsmonitor']],
  ['a filter', ['filter.x.clean', "sh -c 'tools/lint.sh %f'"], ['tools/lint.sh: filter.x.clean']],
  ['a driver', ['diff.x.textconv', 'node ./tools/new.js'], ['tools/new.js: diff.x.textconv']],
  ['an alias', ['alias.go', '!sh run.sh && echo'], ['run.sh: alias.go']],
  ['any other command', ['hook.later.command', 'tools/lint.sh --fix'], ['tools/lint.sh: hook.later.command']],
  ['keys of signers', ['gpg.ssh.allowedSignersFile', 'signers'], ['signers: gpg.ssh.allowedsignersfile']],
])('finds %s', async (_what, setting, paths) => {
  expect(await named([setting])).toEqual(paths);
});

it('finds what settings of halo name', async () => {
  const root = join(tempDir(), 'shop');
  const commit = makeRepo(root, FILES);
  const own = [
    { setting: 'git.allowed_signers', value: join(root, 'ci/signers'), kind: 'path' as const },
    { setting: 'model.key_command', value: 'sh run.sh | tools/lint.sh', kind: 'command' as const },
    { setting: 'model.key_file', value: '/run/secrets/key', kind: 'path' as const },
  ];
  const found = await findNamedPaths({ root, gitDir: join(root, '.git'), commit, own });
  expect(found).toEqual([
    { path: 'ci/signers', setting: 'git.allowed_signers' },
    { path: 'run.sh', setting: 'model.key_command' },
    { path: 'tools/lint.sh', setting: 'model.key_command' },
  ]);
});

it('does not mistake other words for paths: folders of a command, branches, people, URLs, places elsewhere', async () => {
  const settings: [string, string][] = [
    ['alias.t', '!npm test'],
    ['alias.lg', 'log -- docs/ test'],
    ['branch.main.merge', 'refs/heads/main'],
    ['branch.main.description', 'see tools/lint.sh'],
    ['remote.origin.url', 'https://example.com/tools/lint.sh'],
    ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
    ['core.excludesFile', '~/.gitignore'],
    ['core.hooksPath', '/usr/share/hooks'],
    ['core.attributesFile', '.git/info/other'],
    ['core.editor', 'vim'],
  ];
  expect(await named(settings)).toEqual([]);
});

it('reads settings of the operator and of each worktree, and follows links', async () => {
  const home = tempDir();
  const root = join(home, 'shop');
  const commit = makeRepo(root, FILES);
  symlinkSync(root, join(home, 'link'));
  const own = join(home, 'gitconfig');
  writeFileSync(own, `[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ${join(home, 'link/more')}\n`);
  run(root, ['config', 'extensions.worktreeConfig', 'true']);
  run(root, ['worktree', 'add', '-q', '--detach', join(home, 'aside')]);
  run(join(home, 'aside'), ['config', '--worktree', 'core.fsmonitor', join(home, 'aside/run.sh')]);
  process.env.GIT_CONFIG_GLOBAL = own;
  const found = await findNamedPaths({ root, gitDir: join(root, '.git'), commit }).finally(() => {
    delete process.env.GIT_CONFIG_GLOBAL;
  });
  expect(found.map(({ path }) => path).sort()).toEqual(['more', 'run.sh', 'tools/hooks']);
});

it('says nothing about a bare repository without checkouts', async () => {
  const home = tempDir();
  const commit = makeRepo(join(home, 'shop'), FILES);
  run(home, ['clone', '-q', '--bare', 'shop', 'bare.git']);
  const bare = join(home, 'bare.git');
  run(bare, ['config', 'core.hooksPath', 'tools/hooks']);
  expect(await findNamedPaths({ root: bare, gitDir: bare, commit })).toEqual([]);
  run(bare, ['worktree', 'add', '-q', '--detach', join(home, 'aside')]);
  expect(await findNamedPaths({ root: bare, gitDir: bare, commit })).toHaveLength(1);
});
