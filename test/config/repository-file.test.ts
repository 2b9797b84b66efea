import { describe, expect, test } from 'vitest';
import { CONFIG_KEYS } from '../../src/config/keys.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { assertRemoteOptions } from '../../src/config/trust/trust.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { Right } from '../../src/core/access/access.ts';
import { homeFile, KEY_TABLE, OTHERWISE } from '../support/settings/key-table.ts';

/** Members of open tables are settings of their own. */
const settingOf = (key: string) =>
  ({ env: 'env.A', services: 'services.db', 'agents.acp': 'agents.acp.qwen' })[key] ?? key;

describe('the file of a repository', () => {
  test('has a rule for every key', () => {
    expect([...Object.keys(KEY_TABLE), ...OTHERWISE].sort()).toEqual([...CONFIG_KEYS.keys()].sort());
  });

  const tries = Object.entries(KEY_TABLE).flatMap(([key, each]) => each.map((one) => [key, one.value, one] as const));
  test.each(tries)('has its rights to %s = %s', (key, value, { base, file: [without, having], request: options }) => {
    const home = homeFile(base === undefined ? {} : { [key]: base });
    // The user may set everything anywhere; a request also lacks rights.
    for (const [request, outcome] of [
      [undefined, having],
      [[], without],
    ] as const)
      for (const profile of [undefined, 'p']) {
        // What a request chooses needs its right.
        const needsRight = request !== undefined && options[0] === 'refused' && options[1] === 'sets';
        const expected = profile !== undefined && needsRight && outcome === 'sets' ? 'kept' : outcome;
        const repo = `${profile === undefined ? '' : '[profiles.p]\n'}${key} = ${value}`;
        const read = () => resolve({ home, repo, profile, request }).origins[settingOf(key)];
        if (expected === 'refused')
          expect(read).toThrow(/(the file of a repository may not|only config\.toml of HALO_HOME may set it)/);
        else expect(read()).toMatch(expected === 'sets' ? /^\/repo\/halo.toml:/ : /^(\/home|default)/);
      }
  });

  test('may add protected paths and remove built-in ones, but none of the user’s', () => {
    const protect = 'land.protect = ["!infra/**", "!docs/AGENTS.md"]';
    const { config } = resolve({ home: 'land.protect = ["infra/**"]', repo: protect });
    expect(config.land.protect).toEqual(['!infra/**', '!docs/AGENTS.md', 'infra/**']);
    const overruled = resolve({ home: 'land.protect = ["infra/**"]', repo: protect, set: ['land.protect=[]'] });
    expect(overruled.config.land.protect).toEqual([]);
  });

  test('may choose an image that the user lists or uses, but no other of this machine', () => {
    const choose = (home: string, set: string[] = []) => resolve({ home, repo: 'image = "own:1"', set }).config.image;
    const place = 'below [sandbox] in config.toml of HALO_HOME, or pass -c image=own:1';
    for (const [home, advice] of [
      ['', 'write images = ["own:1"]'],
      ['sandbox.images = ["own", "own:1/*"]', 'add it to images'],
    ] as const) {
      expect(() => choose(home)).toThrow(
        `halo.toml:1: image: the file of a repository may not choose the image "own:1"`,
      );
      expect(() => choose(home)).toThrow(`${advice} ${place}`);
    }
    for (const home of ['sandbox.images = ["own:1"]', 'sandbox.images = ["ow*"]', 'image = "own:1"'])
      expect(choose(home)).toBe('own:1');
    expect(choose('', ['image=own:1'])).toBe('own:1');
    expect(choose('', ['image=other'])).toBe('other');
    expect(resolve({ home: 'image = "mine"', repo: 'image = "halo-sandbox"' }).config.image).toBe('halo-sandbox');
    expect(() => resolve({ repo: '[profiles.p]\nimage = "own"', profile: 'p' })).toThrow('may not choose the image');
    expect(() => resolve({ home: 'sandbox.images = ["a*b"]', repo: '' })).toThrow('may contain a * only at its end');
  });

  test('may not silently remove the protection of a machine or of a verdict', () => {
    const { config } = resolve({ repo: 'limits.free_disk = "1m"\ntests.baseline = "never"' });
    expect([config.limits.freeDiskBytes, config.tests.baseline]).toEqual([2 * 1024 ** 3, 'auto']);
  });
});

test.each([
  'network.ca_file="/etc/shadow"',
  'sandbox.runtime=runc',
  'git.sign=ssh',
  'git.signing_key=k',
  'git.allowed_signers=k',
  'limits.free_disk=1m',
  'breaker.same_error=0',
  'model.cassettes="/srv/tapes"',
  'network.agent_registries=["npm"]',
  'sandbox.images=["*"]',
])('an option from another machine may not change the setting of this one: %s', (option) => {
  expect(() => assertRemoteOptions([option])).toThrow('cannot be set from another machine');
});

describe('a request over the network', () => {
  const tries = Object.entries(KEY_TABLE).flatMap(([key, each]) => each.map((one) => [key, one.value, one] as const));
  test.each(tries)('has its rights to %s = %s', (key, value, { base, right, request: outcomes }) => {
    const home = homeFile(base === undefined ? {} : { [key]: base });
    for (const [index, rights] of [[], [right]].entries()) {
      const ask = () => resolve({ home, repo: '', set: [`${key}=${value}`], request: rights }).origins[settingOf(key)];
      if (outcomes[index] === 'sets') expect(ask()).toBe('-c');
      else expect(ask).toThrow(CONFIG_KEYS.get(key)?.trust.rule === 'host-file' ? 'only config.toml' : 'a request');
    }
  });

  test.each(Object.entries(KEY_TABLE).filter(([, [one]]) => one?.file[1] === 'sets' && one.request[0] === 'refused'))(
    'may set %s without the right if the server names it',
    (key, [one]) => {
      if (CONFIG_KEYS.get(key)?.trust.rule !== 'right') return;
      const home = homeFile({ [key]: one!.base!, 'server.options': `["${key}"]` });
      const asked = resolve({ home, repo: '', set: [`${key}=${one!.value}`], request: [] });
      expect(asked.origins[settingOf(key)]).toBe('-c');
    },
  );

  test('names the source in which a refused setting is allowed', () => {
    const ask = () => resolve({ home: 'limits.idle = "8s"', repo: '', set: ['limits.idle=20m'], request: [] });
    const hint = expect.stringMatching(/on the server, with HALO_URL unset/) as string;
    expect(ask).toThrow(expect.objectContaining({ hint }) as Error);
  });

  test('is limited by the defaults without other settings', () => {
    const ask = (option: string) => () => resolve({ repo: '', set: [option], request: [] });
    for (const option of ['limits.memory=1000g', 'limits.output=1t', 'limits.disk=11g', 'tests.baseline=never'])
      expect(ask(option)).toThrow('a request may not be looser than');
    for (const option of ['limits.memory=1g', 'approval.mode=story', 'gates=["a"]', 'env.A=1', 'image=halo-sandbox'])
      expect(ask(option)).not.toThrow();
  });

  test('adds protected paths to those of the repository and of the server, and excludes none', () => {
    const ask = (protect: string, home = 'land.protect = ["infra/**"]') =>
      resolve({ home, repo: 'land.protect = ["!docs/**"]', set: [`land.protect=${protect}`], request: ['land'] });
    expect(ask('["src/**"]').config.land.protect).toEqual(['!docs/**', 'src/**', 'infra/**']);
    expect(() => ask('["src/**", "!**"]')).toThrow('-c: land.protect: a request may only add to the list');
    const free = 'land.protect = ["infra/**"]\nserver.options = ["land.protect"]';
    expect(ask('["!**"]', free).config.land.protect).toEqual(['!docs/**', '!**', 'infra/**']);
  });

  test('adds denied tools to those of the server', () => {
    const home = 'agents.claude.disallowed_tools = ["Bash(git push *)"]\nagent = "claude"';
    const asked = resolve({ home, repo: '', set: ['agents.claude.disallowed_tools=["Bash(curl *)"]'], request: [] });
    expect(JSON.stringify(asked.config.agentOptions)).toContain('["Bash(curl *)","Bash(git push *)"]');
  });

  test('without the right to land, does not count what the repository loosens from the default', () => {
    const repo = 'land.hidden_characters = "report"\nland.unchanged = "trust"';
    const land = (request: Right[] | undefined) => {
      const { hiddenCharacters, unchanged } = resolve({ repo, request }).config.land;
      return [hiddenCharacters, unchanged];
    };
    expect(land([])).toEqual(['block', 'pass']);
    expect(land(['land'])).toEqual(['report', 'trust']);
    expect(land(undefined)).toEqual(['report', 'trust']);
  });

  test('learns which settings of the repository need a right that it lacks', () => {
    const { ignored } = resolve({ repo: 'land.mode = "ff"\ngit.message = "{id}"', request: ['answer'] });
    expect(ignored.map(({ key }) => key)).toEqual(['land.mode', 'git.message']);
  });

  test.each([
    ['land.mode = "ff"', 'land.mode'],
    ['secrets.patterns = ["x"]', 'secrets.patterns'],
    ['network.agent_registries = ["npm"]', 'network.agent_registries'],
    ['approval.mode = "never"', 'approval.mode'],
    ['env.A = "1"', 'env.A'],
  ])('may choose a profile of the server with %s only with the right to land', (line, key) => {
    const home = `gates = ["true"]\napproval.mode = "run"\n[profiles.p]\n${line}\n`;
    const choose = (request: Right[]) => () => resolve({ home, repo: '', profile: 'p', request });
    expect(choose(['answer'])).toThrow(`[profiles.p]: ${key}: a request `);
    expect(choose(['land'])).not.toThrow();
  });

  test('may choose a profile of the repository, which weakens its file only with the right to land', () => {
    const repo =
      'gates = ["npm test"]\napproval.mode = "run"\n[profiles.p]\ngates = []\napproval.mode = "never"\nagent = "claude"';
    const choose = (request: Right[]) => resolve({ repo, profile: 'p', request });
    const { config, ignored } = choose(['answer']);
    expect([config.gates, config.approval.mode, config.agent]).toEqual([['npm test'], 'run', 'claude']);
    expect(ignored.map(({ key }) => key)).toEqual(['gates', 'approval.mode']);
    const { config: loose } = choose(['land']);
    expect([loose.gates, loose.approval.mode]).toEqual([[], 'never']);
  });

  test('may choose a profile of the server with other limits, keys and models', () => {
    const home =
      'limits.memory = "1g"\n[profiles.p]\nlimits.memory = "8g"\nmodel.key_env = "OTHER"\nmodel.name = "gpt-5.5-mini"';
    const { config } = resolve({ home, repo: '', profile: 'p', request: [] });
    expect([config.limits.memoryBytes, config.model.keyEnv]).toEqual([8 * 1024 ** 3, 'OTHER']);
  });

  test('cannot replace the profile of the server by another one', () => {
    const home = '[profiles.strict]\napproval.mode = "story"\n[profiles.p]\nlimits.wall = "1m"';
    for (const profile of ['p', ''])
      expect(
        resolve({ home, repo: '', profile, request: [], env: { HALO_PROFILE: 'strict' } }).config.approval.mode,
      ).toBe('story');
  });

  test('may choose only an allowed image', () => {
    const ask = (home: string) => resolve({ home, repo: '', set: ['image=own'], request: [] }).config.image;
    expect(() => ask('')).toThrow('-c: image: a request may not choose the image "own" of the server');
    expect(ask('sandbox.images = ["own"]')).toBe('own');
    expect(ask('server.options = ["image"]')).toBe('own');
  });
});

function resolve({ home = '', repo, set = [], ...more }: Record<'repo', string> & Partial<Sources>) {
  return resolveConfig({
    home: parseConfigFile('/home/ada/.halo/config.toml', home),
    repo: parseConfigFile('/repo/halo.toml', repo),
    set,
    ...more,
    cwd: '/work',
  });
}

interface Sources {
  request: readonly Right[] | undefined;
  env: Record<string, string>;
  home: string;
  set: string[];
  profile: string | undefined;
}
