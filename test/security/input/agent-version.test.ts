import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { programOfImage } from '../../../src/core/agent-program.ts';

const HOME = '[agents.codex]\nversion = "0.171.0"\n';

const ask = ({
  repo = '',
  set = [],
  home = HOME,
  profile,
}: {
  repo?: string;
  set?: string[];
  home?: string;
  profile?: string;
}) =>
  resolveConfig({
    home: parseConfigFile('/srv/halo/config.toml', home),
    repo: parseConfigFile('/repo/halo.toml', repo),
    request: ['answer', 'land'],
    cwd: '/',
    set,
    ...(profile !== undefined && { profile }),
  });

describe('incident agent-version: others than the owner choose the program that runs', () => {
  it.each([
    ['the file of a repository', { repo: '[agents.codex]\nversion = "0.169.0"' }],
    ['the version of another agent there', { repo: '[agents.claude]\nversion = "2.1.330"' }],
    ['a profile of a repository', { repo: '[profiles.old.agents.codex]\nversion = "0.169.0"', profile: 'old' }],
    ['an option of a request', { set: ['agents.codex.version="0.169.0"'] }],
  ])('%s cannot choose a version', (_what, asked) => {
    expect(() => ask(asked)).toThrow(/may not choose the version of an agent|a request may not set it/);
  });

  it.each(['latest', '../evil', '1.2.3 --flag', '1.2.3@sha256', ''])(
    'the owner cannot write %j by mistake',
    (version) => {
      expect(() => ask({ home: `[agents.codex]\nversion = ${JSON.stringify(version)}` })).toThrow('an exact version');
    },
  );

  it.each(['halo-agent-evil:1.2.3', 'halo-agent-codex:latest', 'x/halo-agent-codex:1.2.3', 'halo-agent-codex'])(
    'the image %s is not a version of a program',
    (image) => {
      expect(programOfImage(image)).toBeUndefined();
    },
  );

  it('the choice of the owner stays', () => {
    expect(ask({}).config.agentVersions).toEqual({ codex: '0.171.0' });
  });
});
