import { symlinkSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { snapshotKey, type SnapshotKey } from '../../../src/worker/snapshot/snapshot-key.ts';
import { it as base } from '../../support/fixtures.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';

const IMAGE = 'sha256:1';
const LOCK = JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'packages/a': {} } });
const SET = ['setup=["npm ci"]'];

async function keyOf(
  repository: TestRepository,
  set: string[] = SET,
  image = IMAGE,
  architecture = 'x64',
): Promise<SnapshotKey> {
  const { config } = resolveConfig({ cwd: '/', set });
  const at = {
    gitDir: `${repository.root}/.git`,
    commit: repository.git('rev-parse', 'HEAD'),
    signal: new AbortController().signal,
  };
  return snapshotKey(at, { config, image, architecture });
}

/** A repository with an npm project and a workspace. */
const it = base.extend('repository', ({}, { onCleanup }) => {
  const repository = makeRepository({
    'package.json': JSON.stringify({ name: 'shop', workspaces: ['packages/*'] }),
    'package-lock.json': LOCK,
    'packages/a/package.json': JSON.stringify({ name: 'a' }),
    'examples/package.json': JSON.stringify({ name: 'example', scripts: { postinstall: 'node x.mjs' } }),
    'src/a.ts': 'a',
  });
  onCleanup(() => repository.remove());
  return repository;
});

describe('the key of a snapshot', () => {
  it('depends on the whole tree if the manifests that the lockfile lists are too large together', async ({
    repository,
  }) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const packages = Object.fromEntries(names.map((name) => [`packages/${name}`, {}]));
    const listed = (text: string) =>
      names.forEach((name) =>
        repository.write(`packages/${name}/package.json`, JSON.stringify({ name, text: `${name}${text}` })),
      );
    listed('x'.repeat(11.4 * 1024 * 1024));
    repository.commit('large manifests');
    // The lockfile lists only one of them.
    expect(Array.isArray((await keyOf(repository)).inputs)).toBe(true);
    repository.write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages: { '': {}, ...packages } }));
    repository.commit('a lockfile that lists all');
    expect((await keyOf(repository)).inputs).toEqual({ why: 'its manifests are too large together to be checked' });
  });

  it.for<[string, (repository: TestRepository) => void]>([
    ['a source file', ({ write }) => write('src/a.ts', 'b')],
    ['a new file', ({ write }) => write('docs/a.md', 'b')],
    ['a committed package', ({ write }) => write('node_modules/x/package.json', '{"name":"x"}')],
  ])('does not depend on %s', async ([, change], { repository }) => {
    const before = await keyOf(repository);
    expect(Array.isArray(before.inputs), JSON.stringify(before.inputs)).toBe(true);
    change(repository);
    repository.commit('change');
    expect(await keyOf(repository)).toEqual(before);
  });

  it.for<[string, (repository: TestRepository) => unknown]>([
    ['the lockfile', ({ write }) => write('package-lock.json', `${LOCK}\n`)],
    ['a manifest', ({ write }) => write('package.json', '{"name":"other"}')],
    ['the manifest of a workspace', ({ write }) => write('packages/a/package.json', '{"name":"b"}')],
    ['.npmrc', ({ write }) => write('.npmrc', 'omit=dev\n')],
    [
      'the mode of the lockfile',
      ({ git, write }) => {
        git('update-index', '--chmod=+x', 'package-lock.json');
        git('config', 'core.fileMode', 'false');
        write('more', '');
      },
    ],
  ])('depends on %s', async ([, change], { repository }) => {
    const before = await keyOf(repository);
    change(repository);
    repository.commit('change');
    const after = await keyOf(repository);
    expect(after.key).not.toBe(before.key);
    expect(after.settingsKey).toBe(before.settingsKey);
  });

  it.for<[string, string[], string?]>([
    ['the setup commands', ['setup=["npm ci --ignore-scripts"]']],
    ['variables', [...SET, 'env.NODE_ENV="test"']],
    ['registries', [...SET, 'network.registries=["npm"]']],
    ['the hosts of registries', [...SET, 'network.registry_hosts=["files.example.com:443"]']],
    ['memory', [...SET, 'limits.memory="200m"']],
    ['processes', [...SET, 'limits.pids=20']],
    ['the list of inputs', [...SET, 'snapshot.inputs=["package.json"]']],
    ['the image', SET, 'sha256:2'],
  ])('depends on %s', async ([, set, image], { repository }) => {
    const [before, after] = [await keyOf(repository), await keyOf(repository, set, image)];
    expect(after.key).not.toBe(before.key);
    expect(after.settingsKey).not.toBe(before.settingsKey);
  });

  it.for<[string, string[]]>([
    ['gates', [...SET, 'gates=["npm test"]']],
    ['the model', [...SET, 'model.name="x"']],
    ['the order of variables', [...SET, 'env.B="2"', 'env.A="1"']],
  ])('does not depend on %s', async ([, set], { repository }) => {
    const same = set.some((each) => each.startsWith('env.')) ? [...SET, 'env.A="1"', 'env.B="2"'] : SET;
    expect(await keyOf(repository, set)).toEqual(await keyOf(repository, same));
  });

  it.for<[string, (repository: TestRepository) => void, string[], string]>([
    [
      'the lockfile is a link',
      ({ root, git }) => {
        git('mv', 'package-lock.json', 'lock');
        symlinkSync('lock', `${root}/package-lock.json`);
      },
      SET,
      'package-lock.json is a link',
    ],
    [
      'a package that is installed runs a script',
      ({ write }) => write('packages/a/package.json', '{"scripts":{"postinstall":"node x.mjs"}}'),
      SET,
      'packages/a/package.json',
    ],
    [
      'a manifest is too large to be checked',
      ({ write }) => write('package.json', `{"name":"${'x'.repeat(16 * 1024 * 1024)}"}`),
      SET,
      'package.json is too large to be checked',
    ],
    [
      'the install script of a dependency reads files of the project',
      ({ write }) => write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'node_modules/@prisma/client': { version: '5.0.0' } } })), // prettier-ignore
      SET,
      'package-lock.json has @prisma/client',
    ],
    ['a command of setup is unknown', () => undefined, ['setup=["make deps"]'], 'make'],
    ['no file matches snapshot.inputs', () => undefined, [...SET, 'snapshot.inputs=["*.lok"]'], 'snapshot.inputs'],
  ])('depends on the whole tree if %s', async ([, change, set, why], { repository }) => {
    change(repository);
    repository.write('more', '');
    repository.commit('change');
    const before = await keyOf(repository, set);
    expect(JSON.stringify(before.inputs)).toContain(why);
    repository.write('src/a.ts', 'c');
    repository.commit('again');
    const after = await keyOf(repository, set);
    expect(after.key).not.toBe(before.key);
    expect(after.settingsKey).toBe(before.settingsKey);
  });

  it('depends on the files of snapshot.inputs alone, if that is set', async ({ repository }) => {
    const set = ['setup=["make deps"]', 'snapshot.inputs=["src/*.ts"]'];
    const before = await keyOf(repository, set);
    expect(before.inputs).toEqual(['src/a.ts']);
    repository.write('package-lock.json', '{}');
    repository.commit('another file');
    expect(await keyOf(repository, set)).toEqual(before);
    repository.write('src/a.ts', 'b');
    repository.commit('an input');
    expect((await keyOf(repository, set)).key).not.toBe(before.key);
  });
});
