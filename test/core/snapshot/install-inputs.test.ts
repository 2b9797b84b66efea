import { describe, expect, it } from 'vitest';
import { findInputs, findTreeDependency, listLockedFolders } from '../../../src/core/snapshot/install-inputs.ts';

const TREE = [
  '.npmrc',
  'package.json',
  'package-lock.json',
  'packages/a/package.json',
  'src/index.ts',
  'requirements.txt',
  'uv.lock',
  'pyproject.toml',
  'pnpm-lock.yaml',
  'patches/left-pad.patch',
];

describe('the inputs of setup', () => {
  it.for([
    [['npm ci'], ['.npmrc', 'package-lock.json', 'package.json', 'packages/a/package.json']],
    [['npm ci --no-audit --omit=dev'], ['.npmrc', 'package-lock.json', 'package.json', 'packages/a/package.json']],
    [['pnpm install --frozen-lockfile'], ['.npmrc', 'package.json', 'packages/a/package.json', 'patches/left-pad.patch', 'pnpm-lock.yaml']], // prettier-ignore
    [['uv sync --frozen'], ['pyproject.toml', 'uv.lock']],
    [['python3 -m venv .venv && .venv/bin/pip install --require-hashes -r requirements.txt'], ['requirements.txt']],
    [['uv sync --frozen', 'npm ci'], ['.npmrc', 'package-lock.json', 'package.json', 'packages/a/package.json', 'pyproject.toml', 'uv.lock']], // prettier-ignore
  ] as const)('%j are only manifests and lockfiles', ([setup, files]) => {
    expect(findInputs([...setup], TREE, [])).toMatchObject({ kind: 'files', files });
  });

  it.for([
    'npm install',
    'npm ci && npm run build',
    'npm ci; make',
    'npm ci --prefix=web $(cat x)',
    'npm ci --install-links',
    'npm ci --script-shell=./x',
    './install.sh',
    'pip install -r requirements.txt',
    'pnpm install',
    'uv sync',
    'npm ci\nmake',
  ])('%j are the whole tree', (command) => {
    expect(findInputs([command], TREE, [])).toMatchObject({ kind: 'tree' });
  });

  it('are the whole tree if a file of it can run code during the install', () => {
    expect(findInputs(['npm ci'], [...TREE, 'binding.gyp'], [])).toMatchObject({ kind: 'tree' });
    expect(findInputs(['pnpm i --frozen-lockfile'], [...TREE, '.pnpmfile.cjs'], [])).toMatchObject({ kind: 'tree' });
  });

  it('are the whole tree if a variable can load code', () => {
    expect(findInputs(['npm ci'], TREE, ['NODE_OPTIONS'])).toMatchObject({ kind: 'tree' });
    expect(findInputs(['npm ci'], TREE, ['npm_config_script_shell'])).toMatchObject({ kind: 'tree' });
    expect(findInputs(['npm ci'], TREE, ['npm_config_store_dir', 'CI'])).toMatchObject({ kind: 'files' });
  });
});

describe('a lockfile of npm lists the folders that are installed', () => {
  it('the root and the workspaces', () => {
    const packages = { '': {}, 'packages/a': {}, 'node_modules/a': { resolved: 'packages/a', link: true }, 'packages/a/node_modules/b': {} }; // prettier-ignore
    expect(listLockedFolders(JSON.stringify({ lockfileVersion: 3, packages }))).toEqual(new Set(['', 'packages/a']));
  });

  it.for(['{"lockfileVersion":1,"dependencies":{}}', 'not JSON', '[]'])(
    'unless it is an old or a damaged one: %j',
    (text) => {
      expect(listLockedFolders(text)).toBeUndefined();
    },
  );

  it('if it belongs to the only command', () => {
    expect(findInputs(['npm ci'], TREE, [])).toMatchObject({ lockfile: 'package-lock.json' });
    expect(findInputs(['npm ci'], [...TREE, 'npm-shrinkwrap.json'], [])).toMatchObject({ lockfile: 'npm-shrinkwrap.json' }); // prettier-ignore
    expect(findInputs(['pnpm i --frozen-lockfile'], TREE, [])).not.toHaveProperty('lockfile');
    expect(findInputs(['npm ci', 'uv sync --frozen'], TREE, [])).not.toHaveProperty('lockfile');
    expect(findInputs(['npm ci'], ['web/package-lock.json'], [])).not.toHaveProperty('lockfile');
  });
});

describe('a file makes an install depend on the whole tree', () => {
  it.for([
    ['package.json', '{"scripts":{"postinstall":"node x.js"}}'],
    ['packages/a/package.json', '{"scripts":{"prepare":"husky"}}'],
    ['package.json', '{"dependencies":{"a":"file:./a"}}'],
    ['package.json', 'not JSON'],
    ['.npmrc', 'script-shell=./x.sh'],
    ['.yarnrc.yml', 'yarnPath: tools/yarn.cjs'],
    ['pyproject.toml', '[project]\n[build-system]\nrequires = []'],
    ['requirements.txt', '-r base.txt'],
    ['requirements.txt', './local'],
    ['Gemfile', 'eval_gemfile "x"'],
  ] as const)('%s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toContain(path);
  });

  it.for([
    ['package.json', '{"scripts":{"test":"vitest"},"dependencies":{"a":"^1"}}'],
    ['.npmrc', 'registry=https://registry.example.com/'],
    ['.yarnrc.yml', 'yarnPath: .yarn/releases/yarn-4.cjs'],
    ['pyproject.toml', '[project]\nname = "x"'],
    ['requirements.txt', 'a==1 --hash=sha256:00'],
    ['Gemfile', 'source "https://rubygems.org"\ngem "rake"'],
  ] as const)('not: %s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toBeUndefined();
  });

  it('not: scripts that the command does not run', () => {
    expect(findTreeDependency('package.json', '{"scripts":{"postinstall":"x"}}', false)).toBeUndefined();
  });
});
