import { describe, expect } from 'vitest';
import { initConfig } from '../../../src/api/repository/init-config.ts';
import { readConfig } from '../../../src/api/repository/repo-config.ts';
import { snapshotKey } from '../../../src/worker/snapshot/snapshot-key.ts';
import { it } from '../../support/fixtures.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const HASHED = 'pytest==8.0.0 --hash=sha256:00\n';
const NODE = '{"name":"shop","scripts":{"test":"node --test"}}';
const NPM_LOCK = '{"lockfileVersion":3,"packages":{"":{"name":"shop"}}}';

/** A repository of each kind, with the files on which its snapshot must depend. */
const PROJECTS: [name: string, files: Record<string, string>, inputs: string[]][] = [
  ['npm', { 'package.json': NODE, 'package-lock.json': NPM_LOCK }, ['package-lock.json', 'package.json']],
  ['pnpm', { 'package.json': NODE, 'pnpm-lock.yaml': '' }, ['package.json', 'pnpm-lock.yaml']],
  ['Yarn 1', { 'package.json': NODE, 'yarn.lock': '' }, ['package.json', 'yarn.lock']],
  ['Yarn', { 'package.json': NODE, 'yarn.lock': '', '.yarnrc.yml': '' }, ['.yarnrc.yml', 'package.json', 'yarn.lock']],
  ['uv', { 'pyproject.toml': '[project]\nname = "shop"\n', 'uv.lock': '' }, ['pyproject.toml', 'uv.lock']],
  ['pip', { 'requirements.txt': HASHED, 'notes.txt': 'x' }, ['requirements.txt']],
  ['Cargo', { 'Cargo.toml': '[package]', 'Cargo.lock': '', '.gitignore': 'target\n' }, ['Cargo.lock', 'Cargo.toml']],
  ['Go', { 'go.mod': 'module x\n', 'go.sum': '', '.gitignore': '.go-modules\n' }, ['go.mod', 'go.sum']],
  ['Bundler', { Gemfile: 'gem "rake"\n', 'Gemfile.lock': '', Rakefile: '' }, ['Gemfile', 'Gemfile.lock']],
];

describe('a configuration that halo init writes', () => {
  it.for(PROJECTS)(
    'a project of %s has snapshots that depend only on manifests and lockfiles',
    async ([, files, inputs], { home }) => {
      const repository = newRepository({ ...files, 'src/code': 'x' });
      await initConfig({
        host: hostOf(home),
        folder: repository.root,
        force: false,
        versionsIn: () => Promise.resolve(new Map()),
      });
      const commit = repository.commit('halo');
      const { config } = await readConfig({ host: hostOf(home), folder: repository.root, profile: undefined, set: [] });
      expect(config.setup).not.toEqual([]);
      const at = { gitDir: `${repository.root}/.git`, commit, signal: new AbortController().signal };
      expect((await snapshotKey(at, { config, image: 'sha256:0', architecture: 'x64' })).inputs).toEqual(inputs);
    },
  );
});
