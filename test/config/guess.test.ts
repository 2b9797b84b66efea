import { describe, expect, test } from 'vitest';
import { guessGates } from '../../src/config/output/guess-gates.ts';

const guess = (files: Record<string, string>) => guessGates(new Map(Object.entries(files)));

describe('Node.js', () => {
  const manifest = JSON.stringify({ scripts: { test: 'vitest run', build: 'tsc', lint: 'eslint .', dev: 'vite' } });

  test.each([
    ['package-lock.json', 'npm ci', ['npm run lint', 'npm run build', 'npm test']],
    ['pnpm-lock.yaml', 'pnpm install --frozen-lockfile', ['pnpm run lint', 'pnpm run build', 'pnpm test']],
    ['yarn.lock', 'yarn install --frozen-lockfile', ['yarn run lint', 'yarn run build', 'yarn test']],
  ])('Node.js with %s', (lockFile, setup, gates) => {
    expect(guess({ 'package.json': manifest, [lockFile]: '' })).toMatchObject({
      setup: [setup],
      gates,
      env:
        lockFile === 'pnpm-lock.yaml'
          ? { npm_config_store_dir: '/workspace/node_modules/.pnpm-store' }
          : lockFile === 'yarn.lock'
            ? { YARN_CACHE_FOLDER: '/workspace/node_modules/.yarn-cache' }
            : {},
      reasons: [`${lockFile}: ${setup}`, 'package.json has the scripts lint, build, test'],
    });
  });

  test('modern yarn has another option', () => {
    const files = { 'package.json': '{}', 'yarn.lock': '', '.yarnrc.yml': '' };
    expect(guess(files).setup).toEqual(['yarn install --immutable']);
  });

  test('packages are installed without a lock file only if there are any', () => {
    expect(guess({ 'package.json': '{"devDependencies": {"x": "1"}}' }).setup).toEqual(['npm install']);
    expect(guess({ 'package.json': '{}' }).setup).toEqual([]);
  });

  test.each([
    [{ packageManager: 'pnpm@9.1.0' }, {}, 'pnpm install', 'pnpm test'],
    [{ packageManager: 'pnpm@9.1.0' }, { 'package-lock.json': '' }, 'pnpm install', 'pnpm test'],
    [{ packageManager: 'yarn@4.1.0' }, { 'yarn.lock': '' }, 'yarn install --immutable', 'yarn test'],
    [{ packageManager: 'yarn@1.22.0' }, { 'yarn.lock': '' }, 'yarn install --frozen-lockfile', 'yarn test'],
    [{}, { 'pnpm-workspace.yaml': '' }, 'pnpm install', 'pnpm test'],
    [{}, { 'bun.lock': '' }, 'bun install --frozen-lockfile', 'bun run test'],
  ])('%j with %j is installed with %s', (more, files, setup, gate) => {
    const manifest = JSON.stringify({ scripts: { test: 'x' }, ...more });
    expect(guess({ 'package.json': manifest, ...files })).toMatchObject({ setup: [setup], gates: [gate] });
  });

  test('a script that another gate runs is not a separate gate', () => {
    const scripts = {
      lint: 'eslint',
      type: 'tsc',
      check: 'run-s lint type',
      build: 'tsc',
      test: 'npm run unit',
      unit: 'x',
    };
    expect(guess({ 'package.json': JSON.stringify({ scripts }) }).gates).toEqual([
      'npm run check',
      'npm run build',
      'npm test',
    ]);
    const nested = { lint: 'eslint', pretest: 'npm run all', all: 'npm run lint && npm test', test: 'x' };
    expect(guess({ 'package.json': JSON.stringify({ scripts: nested }) }).gates).toEqual(['npm test']);
  });

  test.each([
    ['run-s "lint:*"', 'lint:*', ['lint', 'test']],
    ['npm-run-all --parallel lint:*', 'lint:*', ['lint', 'test']],
    ["concurrently 'npm:lint:*'", 'lint:*', ['lint', 'test']],
    ['c8 pnpm lint:js && cross-env CI=1 yarn run lint:css', 'lint:*', ['lint', 'test']],
    ['run-s lint:js', 'lint:*', ['lint', 'test', 'lint:css']],
    ['eslint .', 'lint:*', ['lint', 'test', 'lint:js', 'lint:css']],
  ])(
    'a script that another gate runs by a pattern or behind another program is not a gate: %s',
    (lint, _all, names) => {
      const scripts = { lint, 'lint:js': 'eslint src', 'lint:css': 'stylelint src', test: 'jest --coverage' };
      const steps = ['lint', 'lint:js', 'lint:css', 'test'].map((name) => ['npm', 'run', name]);
      const { gates } = guessGates(new Map([['package.json', JSON.stringify({ scripts })]]), [
        { path: 'ci.yml', commands: steps },
      ]);
      expect(gates).toEqual(names.map((name) => (name === 'test' ? 'npm test' : `npm run ${name}`)));
    },
  );

  test('a script that differs from another one in flags only is not a gate', () => {
    const scripts = { test: 'jest --coverage', 'test:ci': 'jest --runInBand', 'test:types': 'tsd', build: 'tsc' };
    const commands = ['test:ci', 'test:types'].map((name) => ['npm', 'run', name]);
    const files = new Map([['package.json', JSON.stringify({ scripts })]]);
    const { gates } = guessGates(files, [{ path: 'ci.yml', commands }]);
    expect(gates).toEqual(['npm run build', 'npm test', 'npm run test:types']);
  });

  test('scripts that test nothing or never end are not gates', () => {
    const scripts = { test: 'echo "Error: no test specified" && exit 1', check: 'tsc --watch' };
    expect(guess({ 'package.json': JSON.stringify({ scripts }) }).gates).toEqual([]);
  });

  test('a malformed package.json is ignored', () => {
    expect(guess({ 'package.json': '{' })).toMatchObject({ setup: [], gates: [], reasons: [] });
    expect(guess({ 'package.json': 'null' }).gates).toEqual([]);
  });
});

describe('Python', () => {
  test('configured tools are gates, run through the installer', () => {
    const dev = '[dependency-groups]\ndev = ["ruff>=0.5", "mypy"]\n';
    const files = { 'pyproject.toml': `${dev}[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]`, 'uv.lock': '' };
    expect(guess(files)).toMatchObject({
      setup: ['uv sync --frozen'],
      gates: ['uv run ruff check .', 'uv run mypy .', 'uv run pytest -v'],
      reasons: ['there is a uv.lock', 'ruff is configured', 'mypy is configured', 'the project uses pytest'],
    });
  });

  test('a tool that is configured but not installed is not a gate, with a comment in the file', () => {
    const files = {
      'pyproject.toml': '[tool.ruff]\nline-length = 100\n[tool.poetry.dev-dependencies]\nmypy = "1"\n[tool.mypy]',
      'poetry.lock': '',
    };
    expect(guess(files)).toMatchObject({
      gates: ['poetry run mypy .'],
      env: { POETRY_VIRTUALENVS_IN_PROJECT: 'true' },
      reasons: ['there is a poetry.lock', 'mypy is configured', 'ruff is configured, but nothing installs it: no gate'],
    });
  });

  test('requirements are installed into a virtual environment', () => {
    expect(guess({ 'requirements.txt': 'pytest==8.0' })).toMatchObject({
      setup: ['python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'],
      gates: ['.venv/bin/pytest -v'],
    });
  });

  test('tox is not a gate: pytest is, if the project uses it, or a comment says what to do', () => {
    expect(guess({ 'tox.ini': '', 'pyproject.toml': 'pytest' }).gates).toEqual(['pytest -v']);
    expect(guess({ 'tox.ini': '[testenv]\ncommands = pytest {posargs}\n' }).gates).toEqual(['pytest -v']);
    const { gates, reasons } = guess({ 'tox.ini': '[testenv]\ncommands = nose2\n' });
    expect({ gates, reasons }).toEqual({
      gates: [],
      reasons: [
        'there is a tox.ini, but tox downloads packages, which gates cannot: make the commands that it runs gates',
      ],
    });
    const workflow = { path: 'ci.yml', commands: [['python', '-m', 'pytest', 'tests']] };
    expect(guessGates(new Map([['tox.ini', '']]), [workflow]).gates).toEqual(['pytest -v']);
  });
});

describe('others', () => {
  test.each([
    [{ 'Cargo.toml': '', 'Cargo.lock': '' }, ['cargo fetch --locked'], ['cargo test --offline']],
    [{ 'go.mod': '', 'go.sum': '' }, ['go mod download'], ['go vet ./...', 'go test -v ./...']],
    [{ 'pom.xml': '', mvnw: '' }, ['./mvnw -B dependency:go-offline'], ['./mvnw -B -o verify']],
    [{ 'build.gradle.kts': '' }, ['gradle testClasses'], ['gradle --offline check']],
    [{ Makefile: 'test: build\n\tx\nlint:\n\ty\ncheck := 1\n' }, [], ['make lint', 'make test']],
  ])('%j', (files: Record<string, string>, setup: string[], gates: string[]) => {
    expect(guess(files)).toMatchObject({ setup, gates });
  });

  test('a Makefile beside another build is ignored', () => {
    expect(guess({ 'go.mod': '', Makefile: 'test:\n' }).gates).toEqual(['go vet ./...', 'go test -v ./...']);
  });

  test('several languages in one repository are combined', () => {
    const { gates } = guess({ 'go.mod': '', 'package.json': '{"scripts": {"test": "x"}}' });
    expect(gates).toEqual(['npm test', 'go vet ./...', 'go test -v ./...']);
  });

  test('an unknown project has no guess', () => {
    expect(guess({ 'README.md': '' })).toMatchObject({ setup: [], gates: [], reasons: [] });
  });
});

describe('Ruby', () => {
  test('Bundler installs, and the Rakefile is the gate', () => {
    expect(guess({ Gemfile: '', Rakefile: '' })).toMatchObject({
      setup: ['bundle install'],
      gates: ['bundle exec rake'],
      hosts: ['rubygems.org:443', 'index.rubygems.org:443'],
    });
    expect(guess({ Rakefile: '' })).toMatchObject({ setup: [], gates: ['rake'] });
  });
});

test('Maven and Gradle reach their repositories, and keep what they download in the workspace', () => {
  expect(guess({ 'pom.xml': '' })).toMatchObject({
    env: { MAVEN_OPTS: '-Dmaven.repo.local=/workspace/.m2/repository' },
    hosts: ['repo.maven.apache.org:443'],
    keeps: ['.m2'],
  });
  expect(guess({ 'build.gradle': '', gradlew: '' })).toMatchObject({
    env: { GRADLE_USER_HOME: '/workspace/.gradle/home' },
    hosts: ['repo.maven.apache.org:443', 'plugins.gradle.org:443', 'services.gradle.org:443'],
    keeps: ['.gradle'],
  });
});

test('downloads that the home folder of a sandbox would lose are kept in the workspace', () => {
  expect(guess({ 'Cargo.toml': '' })).toMatchObject({
    env: { CARGO_HOME: '/workspace/target/cargo-home' },
    keeps: ['target'],
  });
  expect(guess({ 'go.mod': '', 'go.sum': '' })).toMatchObject({
    env: { GOMODCACHE: '/workspace/.go-modules', GOCACHE: '/workspace/.go-modules/.build' },
    keeps: ['.go-modules'],
  });
  expect(guess({ 'uv.lock': '' })).toMatchObject({ env: { UV_CACHE_DIR: '/workspace/.cache/uv' }, keeps: ['.cache'] });
  expect(guess({ 'poetry.lock': '' })).toMatchObject({ env: { POETRY_CACHE_DIR: '/workspace/.cache/poetry' } });
  expect(guess({ 'package.json': '{}', 'bun.lock': '' })).toMatchObject({
    env: { BUN_INSTALL_CACHE_DIR: '/workspace/node_modules/.bun-cache' },
  });
});
