import { describe, expect, it } from 'vitest';
import { selectInputs } from '../../../src/core/snapshot/install-inputs.ts';
import { findTreeDependency, listLockedFolders } from '../../../src/core/snapshot/tree-dependency.ts';

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
    expect(selectInputs([...setup], TREE, {})).toMatchObject({ kind: 'files', files });
  });

  it.for([
    'npm install',
    'npm ci && npm run build',
    'npm ci; make',
    'npm ci --prefix=web $(cat x)',
    'npm ci --install-links',
    'npm ci --script-shell=./x',
    'pnpm install --frozen-lockfile --inject-workspace-packages',
    './install.sh',
    'pnpm install',
    'uv sync',
    'npm ci\nmake',
  ])('%j are the whole tree', (command) => {
    expect(selectInputs([command], TREE, {})).toMatchObject({ kind: 'tree' });
  });

  it('are the whole tree if a file of it can run code during the install', () => {
    expect(selectInputs(['npm ci'], [...TREE, 'binding.gyp'], {})).toMatchObject({ kind: 'tree' });
    for (const path of ['.pnpmfile.cjs', 'package.yaml', 'packages/a/package.json5'])
      expect(selectInputs(['pnpm i --frozen-lockfile'], [...TREE, path], {})).toMatchObject({ kind: 'tree' });
  });

  it.for([
    ['npm ci', ['package.json', 'web/package-lock.json']],
    ['pnpm install --frozen-lockfile', ['package.json']],
    ['yarn --immutable', ['package.json', 'other.lock']],
    ['uv sync --frozen', ['pyproject.toml']],
    ['cargo fetch', ['Cargo.toml']],
    ['go mod download', ['tools/go.mod']],
    ['bundle install --deployment', ['gems.rb']],
  ] as const)('are the whole tree if %s has no lockfile in %j', ([command, tree]) => {
    expect(selectInputs([command], tree, {})).toMatchObject({ kind: 'tree', why: expect.stringContaining('has no') as string }); // prettier-ignore
  });

  it.for([
    { NODE_OPTIONS: '--require ./x.js' },
    { npm_config_script_shell: './x' },
    { GOFLAGS: '-modcacherw -toolexec=./x' },
    { GOFLAGS: '-modfile=other.mod' },
    { GOENV: '/workspace/go.env' },
    { GIT_CONFIG_GLOBAL: '/workspace/x' },
    { BUNDLE_GEMFILE: 'Gemfile.next' },
    { UV_PYTHON: './bin/python' },
    { UV_CONFIG_FILE: 'uv.toml' },
    { PIP_CONSTRAINT: 'x.txt' },
    { PIP_INDEX_URL: 'file:///workspace/index' },
    { CARGO_BUILD_RUSTC_WRAPPER: './x' },
    // Folders in which the repository has files.
    { CARGO_HOME: '/workspace/src' },
    { npm_config_cache: 'patches/../src' },
    { HOME: '/workspace' },
    { BUNDLE_APP_CONFIG: '/workspace/src/index.ts/x' },
  ])('are the whole tree with the variable %j', (env) => {
    const found = selectInputs(['npm ci'], TREE, env);
    expect(found).toMatchObject({ kind: 'tree', why: expect.stringContaining(Object.keys(env)[0]!) as string });
  });

  it.for([
    { CI: '1', npm_config_store_dir: '/workspace/node_modules/.pnpm-store', pnpm_config_store_dir: 'node_modules/x' },
    { GOFLAGS: '-modcacherw', GOMODCACHE: '/workspace/.go-modules' },
    { GOFLAGS: '', GOWORK: 'off' },
    { GOFLAGS: '-mod=mod -trimpath' },
    { BUNDLE_PATH: '/workspace/vendor/bundle', BUNDLE_APP_CONFIG: '/tmp/.bundle', BUNDLE_JOBS: '4' },
    { UV_CACHE_DIR: '.uv-cache', UV_LINK_MODE: 'copy', UV_PYTHON: '3.12' },
    { PIP_CACHE_DIR: '/tmp/pip', PIP_NO_INPUT: '1', PYTHONDONTWRITEBYTECODE: '1' },
    { CARGO_HOME: '/workspace/target/cargo-home', RUST_BACKTRACE: '1' },
  ])('are not the whole tree with %j', (env) => {
    expect(selectInputs(['npm ci'], TREE, env as unknown as Record<string, string>)).toMatchObject({ kind: 'files' });
  });
});

describe('the inputs of pip', () => {
  const tree = ['requirements.txt', 'dev/requirements.in', 'docs/notes.txt', 'tools/pip'];

  it.for([
    ['pip install -r requirements.txt', ['requirements.txt']],
    ['python3 -m pip install -q --require-hashes --requirement=./requirements.txt', ['requirements.txt']],
    ['.venv/bin/pip install -r requirements.txt --no-deps -r dev/requirements.in', ['dev/requirements.in', 'requirements.txt']], // prettier-ignore
  ] as const)('%s are the named files', ([command, files]) => {
    expect(selectInputs([command], tree, {})).toMatchObject({ kind: 'files', files, inspect: files });
  });

  it.for([
    'pip install -r missing.txt',
    'pip install -r ../requirements.txt',
    'pip install -r requirements.lock',
    'pip install -r requirements.txt left-pad',
    'pip install -r requirements.txt -e .',
    'tools/pip install -r requirements.txt',
    './tools/pip install -r requirements.txt',
  ])('%s are the whole tree', (command) => {
    expect(selectInputs([command], tree, {})).toMatchObject({ kind: 'tree' });
  });

  it('are the whole tree if the repository has settings of pip', () => {
    expect(selectInputs(['pip install -r requirements.txt'], [...tree, 'pip.conf'], {})).toMatchObject({
      kind: 'tree',
    });
  });
});

describe('incident snapshot-poison: files of the repository that an installer runs', () => {
  const VENV = 'python3 -m venv venv && venv/bin/pip install -r requirements.txt';

  it.for([
    // The current folder comes first where `python -m` looks for modules.
    [VENV, 'argparse.py'],
    [VENV, 'logging/__init__.py'],
    [VENV, 'logging'],
    ['python3 -m pip install -r requirements.txt', 'keyring/__init__.py'],
    ['python -m pip install -r requirements.txt', '_socket.cpython-311-x86_64-linux-gnu.so'],
    // pip executes what is in its environment.
    [VENV, 'venv/lib/python3.11/site-packages/start.pth'],
    [VENV, 'venv'],
    ['.venv/bin/pip install -r requirements.txt', '.venv/pyvenv.cfg'],
  ] as const)('make the whole tree an input of %s: %s', ([command, path]) => {
    expect(selectInputs([command], [...TREE, path], {})).toMatchObject({
      kind: 'tree',
      why: expect.stringContaining(path) as string,
    });
  });

  it.for([
    [VENV, ['app.py', 'setup.py', 'conftest.py', 'shop/logging.py', 'shop/logging/__init__.py', 'random.txt', 'test/__init__.py', 'code/x.py', 'src/venv/x']], // prettier-ignore
    ['pip install -r requirements.txt', ['argparse.py']],
  ] as const)('do not make it an input of %s: %j', ([command, paths]) => {
    expect(selectInputs([command], [...TREE, ...paths], {})).toMatchObject({ kind: 'files', files: ['requirements.txt'] }); // prettier-ignore
  });

  it.for(['pnpm install --frozen-lockfile', 'yarn install --frozen-lockfile'])(
    'are inputs of %s in node_modules, where scripts of packages find their programs',
    (command) => {
      const installed = ['node_modules/.bin/node', 'packages/a/node_modules'];
      const found = selectInputs([command], [...TREE, 'yarn.lock', ...installed], {});
      expect(found).toMatchObject({ kind: 'files', files: expect.arrayContaining(installed) as string[] });
    },
  );
});

describe('the inputs of Bundler', () => {
  const tree = ['Gemfile', 'Gemfile.lock', 'lib/a.rb'];

  it.for([
    [{ BUNDLE_FROZEN: 'true' }, 'bundle install', 'files'],
    [{ BUNDLE_DEPLOYMENT: '1' }, 'bundle install --jobs=4', 'files'],
    [{}, 'bundle install --frozen', 'files'],
    [{}, 'bundle install', 'tree'],
    [{ BUNDLE_FROZEN: 'false' }, 'bundle install', 'tree'],
    [{ BUNDLE_FROZEN: 'true' }, 'bundle install --gemfile=lib/a.rb', 'tree'],
  ] as const)('are the lockfile only if it is frozen: %j %s', ([env, command, kind]) => {
    expect(selectInputs([command], tree, env)).toMatchObject({ kind });
  });

  it('are gems.rb and gems.locked, if the repository has these', () => {
    const files = ['.bundle/config', 'gems.locked', 'gems.rb', 'vendor/cache/rake.gem'];
    const found = selectInputs(['bundle install --deployment'], [...files, 'lib/a.rb'], {});
    expect(found).toMatchObject({ kind: 'files', files, inspect: ['.bundle/config', 'gems.rb'] });
  });
});

describe('a package whose install script reads the project', () => {
  const entry = { version: '5.0.0', hasInstallScript: true };
  const npm = (name: string, more: object = entry) => JSON.stringify({ lockfileVersion: 3, packages: { '': {}, [`node_modules/a/node_modules/${name}`]: more } }); // prettier-ignore

  it.for([
    ['package-lock.json', npm('@prisma/client')],
    ['npm-shrinkwrap.json', npm('db', { ...entry, name: '@prisma/client' })],
    ['package-lock.json', '{"lockfileVersion":1,"dependencies":{"a":{"version":"1.0.0","dependencies":{"puppeteer":{"version":"9.0.0"}}}}}'], // prettier-ignore
    ['package-lock.json', '{"lockfileVersion":1,"dependencies":{"b":{"version":"npm:puppeteer@9.0.0"}}}'],
    ['pnpm-lock.yaml', "lockfileVersion: '9.0'\n\npackages:\n\n  '@prisma/client@5.0.0':\n    engines: {}\n"],
    ['pnpm-lock.yaml', 'lockfileVersion: 5.3\n\npackages:\n\n  /@sveltejs/kit/1.0.0:\n    dev: true\n'],
    ['yarn.lock', '# yarn lockfile v1\n\n"@prisma/client@^5.0.0":\n  version "5.0.0"\n'],
    ['yarn.lock', 'puppeteer@^1.0.0, puppeteer@^2.0.0:\n  version "2.0.0"\n'],
    ['yarn.lock', '"db@npm:@prisma/client@^5.0.0":\n  version "5.0.0"\n'],
    ['yarn.lock', '"@prisma/client@npm:^5.0.0":\n  version: 5.0.0\n'],
    ['package-lock.json', 'not JSON'],
  ] as const)('makes an install depend on the whole tree: %s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toContain(path);
    expect(findTreeDependency(path, text, false)).toBeUndefined();
  });

  it.for([
    ['package-lock.json', npm('vitest', { peerDependencies: { '@prisma/client': '*', puppeteer: '*' } })],
    ['package-lock.json', npm('puppeteer-core')],
    ['pnpm-lock.yaml', "packages:\n\n  vitest@3.0.0:\n    peerDependencies:\n      '@prisma/client': '*'\n      puppeteer: '*'\n"], // prettier-ignore
    ['yarn.lock', 'puppeteer-core@^1.0.0:\n  version "1.0.0"\n  dependencies:\n    "@prisma/client" "*"\n'],
  ] as const)('is not one that another package only names: %s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toBeUndefined();
  });
});

describe('a lockfile of npm lists the folders that are installed', () => {
  it('the root and the workspaces', () => {
    const packages = { '': {}, 'packages/a': {}, 'node_modules/a': { resolved: 'packages/a', link: true }, 'packages/a/node_modules/b': {} }; // prettier-ignore
    expect(listLockedFolders(JSON.stringify({ lockfileVersion: 3, packages }))).toEqual(new Set(['', 'packages/a']));
  });

  it.for(['{"lockfileVersion":1,"dependencies":{}}', 'not JSON', '[]'])(
    'an old or a damaged lockfile names no folders: %j',
    (text) => {
      expect(listLockedFolders(text)).toBeUndefined();
    },
  );

  it('a lockfile of npm lists its folders if it belongs to the only command', () => {
    expect(selectInputs(['npm ci'], TREE, {})).toMatchObject({ lockfile: 'package-lock.json' });
    expect(selectInputs(['npm ci'], [...TREE, 'npm-shrinkwrap.json'], {})).toMatchObject({ lockfile: 'npm-shrinkwrap.json' }); // prettier-ignore
    expect(selectInputs(['pnpm i --frozen-lockfile'], TREE, {})).not.toHaveProperty('lockfile');
    expect(selectInputs(['npm ci', 'uv sync --frozen'], TREE, {})).not.toHaveProperty('lockfile');
    expect(selectInputs(['npm ci'], ['web/package-lock.json'], {})).not.toHaveProperty('lockfile');
  });
});

describe('a file makes an install depend on the whole tree', () => {
  it.for([
    ['package.json', '{"scripts":{"postinstall":"node x.js"}}'],
    ['packages/a/package.json', '{"scripts":{"prepare":"husky"}}'],
    ['package.json', '{"dependencies":{"a":"file:./a"}}'],
    ['package.json', 'not JSON'],
    ['package.json', '{"dependencies":{"a":"f\\u0069le:./a"}}'],
    ['.npmrc', 'script-shell=./x.sh'],
    ['.npmrc', 'inject-workspace-packages=true'],
    ['.npmrc', 'node-gyp=./tools/gyp'],
    ['.cargo/config.toml', '[registry]\nglobal-credential-providers = ["./tools/login"]'],
    ['rust-toolchain.toml', '[toolchain]\npath = "./rust"'],
    ['.npmrc', 'pnpmfile=tools/hooks.cjs'],
    ['package.json', '{"pnpm":{"injectWorkspacePackages":true}}'],
    ['pnpm-workspace.yaml', 'packages:\n  - "packages/*"\ninjectWorkspacePackages: true\n'],
    ['pnpm-workspace.yaml', '{"pnpmfile": "tools/hooks.cjs"}'],
    ['pnpm-workspace.yaml', 'scriptShell: ./tools/sh\n'],
    ['pnpm-workspace.yaml', 'overrides:\n  x: "file:vendor/x"\n'],
    ['pnpm-workspace.yaml', 'overrides:\n  x: link:../x\n'],
    ['pnpm-workspace.yaml', 'overrides: {x: ./vendor/x}\n'],
    ['.yarnrc.yml', 'yarnPath: tools/yarn.cjs'],
    ['.yarnrc.yml', '"yarnPath": tools/yarn.cjs'],
    ['.yarnrc.yml', 'lockfileFilename: other.lock'],
    ['.yarnrc', 'yarn-path "tools/yarn.js"'],
    ['.bundle/config', '---\nBUNDLE_GEMFILE: "Gemfile.next"\n'],
    ['gems.rb', 'eval_gemfile "x"'],
    ['pyproject.toml', '[project]\n[build-system]\nrequires = []'],
    ['requirements.txt', '-r base.txt'],
    ['requirements.txt', './local'],
    ['requirements.txt', 'a==1 --hash=sha256:00\nb==2'],
    ['requirements.txt', 'a==1 # --hash=sha256:00'],
    ['dev.in', 'a'],
    ['Gemfile', 'eval_gemfile "x"'],
    ['Gemfile', 'gem "rake", %x(bin/version)'],
    ['Gemfile', 'public_send(:x, "y")'],
    ['Gemfile', 'ruby open(".tool-versions").read'],
    ['Gemfile', 'ruby file: ".tool-versions"'],
  ] as const)('%s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toContain(path);
  });

  it.for([
    ['package.json', '{"scripts":{"test":"vitest"},"dependencies":{"a":"^1"}}'],
    ['.npmrc', 'registry=https://registry.example.com/'],
    ['.cargo/config.toml', '[net]\nretry = 3\n[build]\ntarget-dir = "target"'],
    ['rust-toolchain.toml', '[toolchain]\nchannel = "1.80"'],
    ['.yarnrc.yml', 'yarnPath: .yarn/releases/yarn-4.cjs'],
    ['pnpm-workspace.yaml', '# https://pnpm.io/settings\npackages:\n  - "../x"\nlinkWorkspacePackages: true\noverrides:\n  x: ~1.2.0\n'], // prettier-ignore
    ['.yarnrc', 'yarn-path ".yarn/releases/yarn-1.22.cjs"\nlastUpdateCheck 1\n'],
    ['.bundle/config', '---\nBUNDLE_PATH: "vendor/bundle"\nBUNDLE_WITHOUT: "production"\n'],
    ['config', 'BUNDLE_GEMFILE: "x"'],
    ['pyproject.toml', '[project]\nname = "x"'],
    [
      'requirements.txt',
      '# by pip-compile\n--only-binary=:all:\na==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n    # via b\n',
    ],
    ['Gemfile', 'source "https://rubygems.org"\nruby file: ".ruby-version"\ngem "rake"\ngem "sprockets"'],
  ] as const)('an install does not depend on the whole tree because of %s with %j', ([path, text]) => {
    expect(findTreeDependency(path, text, true)).toBeUndefined();
  });

  it('an install does not depend on the whole tree because of scripts that the command does not run', () => {
    expect(findTreeDependency('package.json', '{"scripts":{"postinstall":"x"}}', false)).toBeUndefined();
  });
});
