import { describe, expect, test } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { assertRemoteOptions } from '../../src/config/trust/trust.ts';
import type { ConfigSources } from '../../src/config/load/file-layers.ts';
import { CONFIG_KEYS, placeOf } from '../../src/config/keys.ts';
import { HOST_TABLES } from '../../src/config/schema/halo-toml.ts';
import { unitOf } from '../../src/config/schema/units.ts';
import { parseDuration, parseSize } from '../../src/lib/units.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { QUOTED_AGENTS } from '../support/agent-ids.ts';

const home = (text: string) => parseConfigFile('/home/ada/.halo/config.toml', text);
const repo = (text: string) => parseConfigFile('/repo/halo.toml', text);

describe('defaults', () => {
  test('apply where nothing is set, in ms and bytes', () => {
    const { config } = resolve({});
    const { model, limits, retry, prices, git, ...others } = plainDefaults() as Record<string, Table>;
    expect(config).toEqual({
      ...others,
      // What follows from the choice of the agent, or from several keys.
      agentCommand: undefined,
      agentVersions: {},
      otherAgents: {},
      storyChoices: {},
      agentAnswer: 'json',
      agentOptions: {},
      review: { when: 'never', reviewers: [] },
      model: {
        ...model,
        api: 'openai',
        name: 'gpt-5.5',
        baseUrl: 'https://api.openai.com/v1',
        keyEnv: 'OPENAI_API_KEY',
      },
      prices: {
        ...prices,
        'gpt-5.5': {
          ...{ input: 5, cached: 0.5, cacheWrite: 5, output: 30 },
          long: { above: 271_999, input: 10, cached: 1, cacheWrite: 10, output: 45 },
        },
      },
      // What is written in another form than it is used in.
      git: { ...git, author: { name: 'halo', email: 'halo@localhost' } },
      limits: { ...limits, memoryBytes: 4 * 1024 ** 3, fileBytes: 1024 ** 3, wallMs: 45 * 60_000 },
      retry: { ...retry, backoffMs: 30_000, maxWaitMs: 12 * 3_600_000 },
    });
    expect(config.gates).toBeUndefined();
  });

  test('are the origin of every key that nothing sets', () => {
    expect(new Set(Object.values(resolve({}).origins))).toEqual(new Set(['default']));
  });
});

describe('layers', () => {
  test('override each other in order, and each key names the last that set it', () => {
    const sources: Partial<ConfigSources> = {
      home: home('[retry]\nattempts = 2\n[profiles.ci.retry]\nattempts = 4'),
      repo: repo('[retry]\nattempts = 3'),
    };
    const attempts = (more: Partial<ConfigSources>) => {
      const { config, origins } = resolve({ ...sources, ...more });
      return [config.retry.attempts, origins['retry.attempts']];
    };
    expect(attempts({ repo: undefined })).toEqual([2, '/home/ada/.halo/config.toml:2']);
    expect(attempts({})).toEqual([3, '/repo/halo.toml:2']);
    expect(attempts({ profile: 'ci' })).toEqual([4, '/home/ada/.halo/config.toml:4 [profiles.ci]']);
    const env = { HALO_RETRY_ATTEMPTS: '5' };
    expect(attempts({ profile: 'ci', env })).toEqual([5, 'HALO_RETRY_ATTEMPTS']);
    expect(attempts({ env, set: ['retry.attempts=6', 'retry.attempts=7'] })).toEqual([7, '-c']);
  });

  test('tables merge and lists replace', () => {
    const { config } = resolve({
      home: home('setup = ["a"]\n[limits]\ncpus = 4\nmemory = "1g"\n[env]\nA = "1"\nB = "1"'),
      repo: repo('setup = ["b", "c"]\n[limits]\ncpus = 3.5\n[env]\nB = "2"'),
    });
    expect(config.setup).toEqual(['b', 'c']);
    expect(config.limits).toMatchObject({ cpus: 3.5, memoryBytes: 1024 ** 3, pids: 512 });
    expect(config.env).toEqual({ A: '1', B: '2' });
  });

  test('a profile in both files is merged', () => {
    const { config } = resolve({
      home: home('[profiles.ci]\nimage = "home"\n[profiles.ci.limits]\npids = 100'),
      repo: repo('[profiles.ci]\nagent = "claude"'),
      env: { HALO_PROFILE: 'ci' },
    });
    expect([config.agent, config.image, config.limits.pids]).toEqual(['claude', 'home', 100]);
  });

  test('an explicit empty list of gates is not the same as none', () => {
    expect(resolve({ repo: repo('gates = []') }).config.gates).toEqual([]);
  });

  test('a relative folder of cassettes is resolved against the file that sets it, or the working directory', () => {
    const cassettes = (more: Partial<ConfigSources>) => resolve(more).config.model.cassettes;
    expect(cassettes({ repo: repo('[model]\ncassettes = "tapes"') })).toBe('/repo/tapes');
    expect(cassettes({ set: ['model.cassettes=tapes'] })).toBe('/place/tapes');
    expect(cassettes({ env: { HALO_MODEL_CASSETTES: '/abs' } })).toBe('/abs');
  });

  test('the result is deeply frozen', () => {
    const { config } = resolve({ repo: repo('setup = ["a"]') });
    expect(() => ((config as { agent: string }).agent = 'x')).toThrow(TypeError);
    expect(() => (config.setup as string[]).push('x')).toThrow(TypeError);
    expect(() => ((config.limits as { cpus: number }).cpus = 9)).toThrow(TypeError);
  });
});

describe('values on the command line and in the environment', () => {
  test.each([
    ['limits.memory=2g', { limits: { memoryBytes: 2 * 1024 ** 3 } }],
    ['limits.wall="1h30m"', { limits: { wallMs: 5_400_000 } }],
    ['limits.cpus = 0.5', { limits: { cpus: 0.5 } }],
    ['gates=["a", "b c"]', { gates: ['a', 'b c'] }],
    ['network={allow=["h.example:1"]}', { network: { allow: ['h.example:1'] } }],
    ['env.PORT=3000', { env: { PORT: '3000' } }],
    ['env={A="1"}', { env: { A: '1' } }],
    ['model.name=5', { model: { name: '5' } }],
    ['agents.command.run="my agent" --yes # now', { agentCommand: '"my agent" --yes # now' }],
    ['git.message=fix: {title} = done', { git: { message: 'fix: {title} = done' } }],
  ])('-c %s', (option, expected) => {
    expect(resolve({ set: [option] }).config).toMatchObject(expected);
  });

  test('variables are named after the key, and empty ones count as not set', () => {
    const env = {
      HALO_GATES: '["npm test"]',
      HALO_MODEL_BASE_URL: 'http://localhost:9/v1/',
      HALO_ENV_TZ: 'UTC',
      HALO_AGENT: '',
      HALO_HOME: '/somewhere',
      HOME: '/x',
    };
    const { config, origins } = resolve({ env });
    expect(config).toMatchObject({ agent: 'codex', gates: ['npm test'], env: { TZ: 'UTC' } });
    expect(config.model.baseUrl).toBe('http://localhost:9/v1');
    expect(origins['env.TZ']).toBe('HALO_ENV_TZ');
  });

  test('a misspelt variable is refused, and one of another program is ignored', () => {
    expect(refusal({ env: { HALO_LIMITS_MEMROY: '1g' } })).toBe(
      'HALO_LIMITS_MEMROY: unknown variable; did you mean "HALO_LIMITS_MEMORY"?',
    );
    expect(resolve({ env: { HALO_NIGHTLY_BUILD_NUMBER: '7' } }).config.agent).toBe('codex');
  });

  test('an option that is not key=value is wrong usage', () => {
    expect(() => resolve({ set: ['gates'] })).toThrow(
      expect.objectContaining({ code: 'USAGE', message: '-c takes key=value, not "gates".' }) as Error,
    );
    expect(refusal({ set: ['gates=["a"'] })).toBe('-c: gates: not valid TOML: ["a"');
    expect(refusal({ set: ['agents.command.run="say \\{"'] })).toBe(
      '-c: agents.command.run: not valid TOML: "say \\{"',
    );
  });
});

describe('errors', () => {
  test.each([
    ['gate = ["npm test"]', ':1: gate: unknown key; did you mean "gates"?'],
    ['memory = "4g"', ':1: memory: unknown key; did you mean "limits.memory"?'],
    ['agent = "codex"\n\n[limit]\ncpus = 1', ':3: limit: unknown key; did you mean "limits"?'],
    ['[command]\nrun = ["./agent"]', ':1: command: unknown key; did you mean "agents.command"?'],
    ['[sandbox]\nimage = "x"', ':2: sandbox.image: unknown key; did you mean "image"?'],
    ['[model]\nkey = "x"', ':2: model.key: unknown key; did you mean "model.key_env"?'],
    ['[limits]\ncpus = 1\nmemroy = "4g"', ':3: limits.memroy: unknown key; did you mean "limits.memory"?'],
    ['[money]\nrun_usd = 3', ':1: money: unknown key'],
    ['limits = 3', ':1: limits: must be a table'],
    ['profiles = 3', ':1: profiles: must be a table'],
    ['agent = "claud"', `:1: agent: must be one of ${QUOTED_AGENTS}; did you mean "claude"?`],
    ['agent = "gpt-5"', `:1: agent: must be one of ${QUOTED_AGENTS}`],
    ['[secrets]\nallow = ["jwtt"]', ':2: secrets.allow[0]: names "jwtt", which is not a rule; did you mean "jwt"?'],
    [
      '[secrets]\nallow = ["not-searched"]',
      ':2: secrets.allow[0]: names "not-searched", which is not a rule; halo names the rule of each possible secret',
    ],
    ['[secrets]\nallow = ["jwt:"]', ':2: secrets.allow[0]: must have a glob after the colon of "jwt:"'],
    ['setup = "npm ci"', ':1: setup: must be a list of commands, like ["npm test"]'],
    ['gates = ["npm test", " "]', ':1: gates[1]: must not be empty'],
    ['image = ""', ':1: image: must not be empty'],
    ['[limits]\nmemory = 4', ':2: limits.memory: must be a size of at least "64m"'],
    ['[limits]\noutput = "0b"', ':2: limits.output: must be a size, like "512m" or "4g"'],
    ['[limits]\nmemory = "1m"', ':2: limits.memory: must be a size of at least "64m"'],
    ['[limits]\nwall = "45"', ':2: limits.wall: must be a duration above 0, like "45m", "30s" or "1h30m"'],
    ['[retry]\nbackoff = "0s"', ':2: retry.backoff: must be a duration above 0, like "45m", "30s" or "1h30m"'],
    ['[limits]\npids = 1.5', ':2: limits.pids: must be a whole number from 16 to 1000000'],
    ['[limits]\ncpus = 0', ':2: limits.cpus: must be a number from 0.1 to 1024'],
    ['[env]\nPORT = 3000', ':2: env.PORT: must be a string; put numbers in quotes'],
    ['[env]\n"A B" = "x"', ':2: env.A B: is not the name of an environment variable'],
    ['env = 3', ':1: env: must be a table of strings'],
    [
      '[model]\nbase_url = "ftp://x"',
      ':2: model.base_url: must be an http or https URL without user, query or fragment',
    ],
    ['[model]\nkey_env = "a-b"', ':2: model.key_env: must be the name of an environment variable, like OPENAI_API_KEY'],
    ['[git]\nauthor = "halo"', ':2: git.author: must be of the form "Name <email>"'],
    [
      '[git]\nmessage = "{id} {titel}"',
      ':2: git.message: may use only {id}, {title}, {title_lower}, {type}, {scope} and {run}',
    ],
    [
      '[git]\nsign = "ssh"',
      ':2: git.sign: the file of a repository may not choose the signing key; set it in config.toml of HALO_HOME, as a variable or with -c',
    ],
    [
      '[breaker]\ncooldown = "1s"',
      ':2: breaker.cooldown: the file of a repository may not decide when halo stops retrying; set it in config.toml of HALO_HOME, as a variable or with -c',
    ],
    ['[retry.provider]\nrule = "again"', ':2: retry.provider.rule: must be one of "hint", "fresh", "wait", "halt"'],
    ['[retry]\njitter = 2', ':2: retry.jitter: must be a number from 0 to 1'],
    ['[land]\nmode = "merge"', ':2: land.mode: must be one of "branch", "ff", "worktree", "pr"'],
    ['[profiles.ci]\nagnt = "codex"', ':2 [profiles.ci]: agnt: unknown key; did you mean "agent"?'],
    ['agent = "command"', ':1: agent: "command" requires agents.command.run'],
    ['[model]\nmode = "replay"', ':2: model.mode: "replay" requires model.cassettes, the folder of the cassettes'],
    ['[retry]\nbackoff = "1h"', ':2: retry.backoff: must not be longer than retry.max_backoff (default)'],
  ])('%j', (text, message) => {
    expect(refusal({ repo: repo(text) })).toBe(`/repo/halo.toml${message}`);
  });

  test('an agent "command" without a command is refused with the setting that it needs', () => {
    expect(failure({ repo: repo('agent = "command"') }).hint).toContain('[agents.command] run = "./tools/agent.sh"');
  });

  test.each([
    '*.example.com:443',
    'example.com',
    'example.com:0',
    'example.com:65536',
    'exa_mple.com:443',
    '-a.example:1',
    '10.0.0.999:1',
    'https://example.com:443',
    '[::g]:443',
  ])('the host %s is refused', (host) => {
    expect(refusal({ repo: repo(`[network]\nallow = ["${host}"]`) })).toContain(
      'network.allow[0]: must be exactly host:port',
    );
  });

  test.each([
    ['private = ["packages.example.com:443"]', 'network.private'],
    ['agent_registries = ["npm"]', 'network.agent_registries'],
    ['registry_hosts = ["files.example.com:443"]', 'network.registry_hosts'],
    ['upstreams.npm = "http://packages.example.com"', 'network.upstreams.npm'],
    ['allow = ["packages.example.com:443", "169.254.169.254:80"]', 'network.allow'],
    ['allow = ["[::1]:6379"]', 'network.allow'],
  ])('a repository may not allow access to the network of the worker: %s', (line, key) => {
    const way = `halo.toml:2: ${key}: the file of a repository may not allow access to this network`;
    expect(refusal({ repo: repo(`[network]\n${line}`) })).toContain(way);
    expect(() => resolve({ home: home(`[network]\n${line}`) })).not.toThrow();
    const option = `network.${line.replace(' = ', '=')}`;
    expect(() => assertRemoteOptions([option])).toThrow(`${key} cannot be set from another machine`);
  });

  test('a repository may allow public addresses and registries', () => {
    const text = '[network]\nallow = ["93.184.216.34:443"]\nregistries = ["npm", "go"]';
    expect(resolve({ repo: repo(text) }).config.network).toMatchObject({
      allow: ['93.184.216.34:443'],
      registries: ['npm', 'go'],
    });
    expect(refusal({ repo: repo('[network]\nregistries = ["cpan"]') })).toContain(
      'network.registries[0]: must be one of "npm", "pypi", "crates", "go", "debian"',
    );
  });

  test('exact hosts and addresses are accepted, in lower case', () => {
    const allow = '["Packages.Example.com:443", "127.0.0.1:80", "[::1]:8080", "localhost:1"]';
    expect(resolve({ set: [`network.allow=${allow}`] }).config.network.allow).toEqual([
      'packages.example.com:443',
      '127.0.0.1:80',
      '[::1]:8080',
      'localhost:1',
    ]);
  });

  test('errors of all sources are listed together', () => {
    const message = refusal({ home: home('agnt = 1'), repo: repo('gats = []'), set: ['limits.cpus=many'] });
    expect(message.split('\n')).toEqual([
      '/home/ada/.halo/config.toml:1: agnt: unknown key; did you mean "agent"?',
      '/repo/halo.toml:1: gats: unknown key; did you mean "gates"?',
      '-c: limits.cpus: must be a number from 0.1 to 1024',
    ]);
  });

  test('an unknown profile is refused with those that exist', () => {
    const files = { home: home('[profiles.ci]'), repo: repo('[profiles.fast]') };
    const error = failure({ ...files, profile: 'fst' });
    expect([error.message, error.hint]).toEqual([
      'There is no profile "fst"; did you mean "fast"?',
      'Use one of these profiles: ci, fast.',
    ]);
    expect(failure({ profile: 'x' }).hint).toBe('Define [profiles.<name>] in a configuration file first.');
  });

  test('signing needs a key', () => {
    expect(refusal({ set: ['git.sign=ssh'] })).toBe('-c: git.sign: "ssh" requires git.signing_key');
    const { config } = resolve({ home: home('[git]\nsign = "ssh"\nsigning_key = "key"') });
    expect(config.git).toMatchObject({ sign: 'ssh', signingKey: '/home/ada/.halo/key' });
  });

  test('the agent must exist', () => {
    expect(refusal({ set: ['agent=cursor'] })).toBe(`-c: agent: must be one of ${QUOTED_AGENTS}`);
  });
});

function resolve(more: Partial<ConfigSources>) {
  return resolveConfig({ cwd: '/place', ...more });
}

/** The default of each key that a run has, in ms and bytes, where its configuration has it. */
function plainDefaults(): Table {
  const root: Table = {};
  for (const { name, kind, schema, default: preset } of CONFIG_KEYS.values()) {
    const path = placeOf(name);
    if (OF_NO_RUN.has(path[0] ?? '') || name === 'model.effort') continue;
    const member = path.pop() ?? name;
    const table = path.reduce((within, part) => (within[part] ??= {}) as Table, root);
    const unit = unitOf(schema);
    const parse = unit === 'Ms' ? parseDuration : unit === 'Bytes' ? parseSize : undefined;
    const value = parse !== undefined && typeof preset === 'string' ? parse(preset) : preset;
    table[member] = kind === 'table' ? {} : value;
  }
  return root;
}

type Table = Record<string, unknown>;
const OF_NO_RUN = new Set<string>([...HOST_TABLES, 'agents', 'providers']);

function failure(more: Partial<ConfigSources>): HaloError {
  try {
    resolve(more);
  } catch (error) {
    if (error instanceof HaloError && error.code === 'CONFIG_INVALID') return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

function refusal(more: Partial<ConfigSources>): string {
  return failure(more).message;
}
