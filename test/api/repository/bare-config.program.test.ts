import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listProfiles, readConfig } from '../../../src/api/repository/repo-config.ts';
import { inspectFolder } from '../../../src/api/submit/resolve-submission.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('a bare repository is configured by the halo.toml of its commit', async () => {
  const { root } = newRepository({ 'halo.toml': 'gates = ["make test"]\n[profiles.fast]\ngates = []\n' });
  const host = hostOf(tempDir('halo-bare'));
  const bare = join(host.home, 'shop.git');
  execFileSync('git', ['clone', '-q', '--bare', root, bare]);
  const { config, settings } = await readConfig({ host, folder: bare, profile: undefined, set: [] });
  expect(config.gates).toEqual(['make test']);
  expect(settings.find(({ key }) => key === 'gates')?.origin).toBe(`${bare}:halo.toml:1`);
  expect(await listProfiles({ host, folder: bare })).toEqual(['fast']);
  expect((await inspectFolder(bare, undefined)).file?.path).toBe(`${bare}:halo.toml`);

  const empty = join(host.home, 'empty.git');
  execFileSync('git', ['init', '-q', '--bare', empty]);
  expect((await readConfig({ host, folder: empty, profile: undefined, set: [] })).config.gates).toBeUndefined();
});
