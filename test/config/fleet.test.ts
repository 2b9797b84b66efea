import { expect, test } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import type { ConfigSources } from '../../src/config/load/file-layers.ts';
import { resolveConfig } from '../../src/config/resolve.ts';

const file = (text: string) => parseConfigFile('/somewhere/config.toml', text);

test('limits come from config.toml of HALO_HOME, and all others are unlimited', () => {
  const home = file('[fleet]\nmax = 3\nper_user = 2\n[fleet.per_agent]\nclaude = 1\n');
  expect(resolveConfig({ cwd: '/', home }).fleet).toEqual({ max: 3, perUser: 2, perAgent: { claude: 1 } });
  expect(resolveConfig({ cwd: '/' }).fleet).toEqual({ perAgent: {} });
});

test.each<[string, Partial<ConfigSources>]>([
  ['a repository', { repo: file('[fleet]\nmax = 99') }],
  ['a repository, where the host has a file, too', { home: file('[fleet]\nmax = 1'), repo: file('[fleet]\nmax = 99') }],
  ['a profile', { home: file('[profiles.big.fleet]\nmax = 99'), profile: 'big' }],
  ['a variable', { env: { HALO_FLEET_MAX: '99' } }],
  ['-c', { set: ['fleet.per_user=99'] }],
])('%s may not set a limit', (_who, sources) => {
  expect(() => resolveConfig({ cwd: '/', ...sources })).toThrow('only config.toml of HALO_HOME may set it');
});
