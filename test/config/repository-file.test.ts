import { describe, expect, test } from 'vitest';
import { CONFIG_KEYS } from '../../src/config/keys.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { assertRemoteOptions } from '../../src/config/trust/trust.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { AGENT_IDS } from '../../src/core/agent.ts';

/**
 * What the file of a repository, which others write, may do with each key. A new key must be put into one of these
 * tables: no key can be set from a repository because it was forgotten.
 */

/** It may choose these: they decide what happens inside of sandboxes, or to the repository itself. */
const FREE = {
  agent: '"claude"',
  'snapshot.inputs': '["deps.lock"]',
  'agents.codex.subagents': 'true',
  'agents.codex.config.model_verbosity': '"high"',
  'agents.codex.config.model_reasoning_summary': '"detailed"',
  'agents.codex.config.model_context_window': '100000',
  'agents.codex.config.model_auto_compact_token_limit': '80000',
  'agents.codex.config.tool_output_token_limit': '5000',
  'agents.codex.config.project_doc_max_bytes': '1000',
  'agents.codex.config.personality': '"friendly"',
  'agents.codex.config.features.view_image': 'false',
  'agents.codex.config.features.goals': 'false',
  'agents.claude.tools': '["Bash", "Grep"]',
  'agents.claude.disallowed_tools': '["Bash(git push *)"]',
  'agents.claude.subagents': 'true',
  'agents.claude.teams': 'true',
  'agents.claude.session': '"story"',
  'agents.claude.session_expiry': '"1h"',
  'agents.claude.config.language': '"german"',
  'agents.claude.config.outputStyle': '"Explanatory"',
  'agents.command.run': '"./agent"',
  'agents.command.answer': '"signals"',
  'agents.command.model': '"openai"',
  'agents.opencode.model': '"openai"',
  'agents.opencode.answer': '"signals"',
  'agents.gemini.answer': '"signals"',
  setup: '["npm ci"]',
  gates: '["npm test"]',
  env: '{ A = "1" }',
  'model.name': '"gpt-5.5-mini"',
  'model.effort': '"high"',
  'model.fallback': '["gpt-5.5-mini"]',
  'model.allow': '["gpt-5.5-nano"]',
  'model.mode': '"record"',
  'model.cassettes': '"tapes"',
  'model.timing': '"recorded"',
  'network.allow': '["packages.example.com:443"]',
  'network.channel': '"stdio"',
  'network.registries': '["npm"]',
  'run.parallel': '4',
  'run.on_failure': '"continue"',
  'retry.attempts': '5',
  'retry.backoff': '"1s"',
  'retry.max_backoff': '"10m"',
  'retry.max_wait': '"24h"',
  'retry.multiplier': '3',
  'retry.jitter': '0.5',
  'retry.crashes': '5',
  'retry.agent.rule': '"fresh"',
  'retry.agent.backoff': '"1s"',
  'retry.story.rule': '"fresh"',
  'retry.story.backoff': '"1s"',
  'retry.gate.rule': '"fresh"',
  'retry.gate.backoff': '"1s"',
  'retry.tests.rule': '"fresh"',
  'retry.tests.backoff': '"1s"',
  'retry.tests.retries': '3',
  'retry.policy.rule': '"fresh"',
  'retry.policy.backoff': '"1s"',
  'retry.policy.retries': '2',
  'retry.environment.rule': '"fresh"',
  'retry.environment.backoff': '"1s"',
  'retry.environment.retries': '3',
  'retry.infrastructure.rule': '"fresh"',
  'retry.infrastructure.backoff': '"1s"',
  'retry.infrastructure.retries': '3',
  'retry.provider.rule': '"fresh"',
  'retry.provider.backoff': '"1s"',
  'retry.provider.retries': '3',
  'retry.budget.rule': '"wait"',
  'retry.budget.backoff': '"1s"',
  'retry.budget.retries': '1',
  'prd.write_back': 'false',
  'prompt.before': '"prompts/engineer.md"',
  'prompt.standards': '["docs/standards.md"]',
  'prompt.test_standards': '["docs/standards.md#Tests"]',
  'prompt.specs': '["docs/**"]',
  'prompt.vision': '"docs/vision.md"',
  'prompt.prd': '"whole"',
  'prompt.max_tokens': '1000',
  'tests.refactor': 'true',
  'tests.command': '"pytest -q {files}"',
  'tests.files': '["tests/**"]',
  'tests.reports': '["report.xml"]',
  'land.mode': '"ff"',
  'land.pull_requests': '"story"',
  'land.stop_label': '"wip"',
  'answers.deadline': '"8h"',
  'answers.default': '"first-option"',
  'git.author': '"Ada <ada@example.com>"',
  'git.message': '"{id}"',
};

/** It may ask for more care than the user, or for less to use, and never the other way round: [more, less]. */
const NO_LOOSER: Record<string, [strict: string, loose: string]> = {
  'snapshot.mode': ['"off"', '"auto"'],
  'snapshot.recheck': ['0.5', '0.1'],
  'budget.story_usd': ['1', '2'],
  'budget.run_usd': ['1', '2'],
  'budget.day_usd': ['1', '2'],
  'budget.story_tokens': ['1', '2'],
  'budget.run_tokens': ['1', '2'],
  'budget.user_usd': ['1', '2'],
  'budget.repository_usd': ['1', '2'],
  'budget.user_tokens': ['1', '2'],
  'budget.repository_tokens': ['1', '2'],
  'budget.day_tokens': ['1', '2'],
  'limits.cpus': ['1', '1.5'],
  'limits.memory': ['"900m"', '"1g"'],
  'limits.pids': ['100', '1000'],
  'limits.files': ['300', '3000'],
  'limits.file_size': ['"900m"', '"1g"'],
  'limits.disk': ['"900m"', '"1g"'],
  'limits.free_disk': ['"10g"', '"9g"'],
  'limits.wall': ['"50m"', '"1h"'],
  'limits.idle': ['"50m"', '"1h"'],
  'limits.output': ['"900m"', '"1g"'],
  'approval.mode': ['"story"', '"run"'],
  'approval.by': ['"others"', '"anyone"'],
  'prd.criteria': ['"required"', '"warn"'],
  'tests.first': ['"on"', '"report"'],
  'tests.removed': ['"block"', '"report"'],
  'land.push': ['"branch"', '"base"'],
  'land.feedback_rounds': ['1', '3'],
  'land.unchanged': ['"fail"', '"pass"'],
  'land.hidden_characters': ['"refuse"', '"block"'],
  'tests.baseline': ['"always"', '"auto"'],
  'workspace.transport': ['"stream"', '"mount"'],
};

/** Not its to set: refused. */
const NEVER = {
  'model.base_url': '"https://collector.example.com/v1"',
  'model.key_env': '"OTHER"',
  'model.keys': '[{ key_env = "OTHER" }]',
  'providers.openai.keys': '[{ key_env = "OTHER" }]',
  'providers.anthropic.keys': '[{ key_env = "OTHER" }]',
  'providers.google.keys': '[{ key_env = "OTHER" }]',
  'model.key_file': '"key"',
  'model.key_command': '"print-key"',
  'providers.openai.base_url': '"https://collector.example.com/v1"',
  'providers.openai.key_env': '"OTHER"',
  'providers.openai.key_file': '"key"',
  'providers.openai.key_command': '"print-key"',
  'providers.anthropic.base_url': '"https://collector.example.com/v1"',
  'providers.anthropic.key_env': '"OTHER"',
  'providers.anthropic.key_file': '"key"',
  'providers.anthropic.key_command': '"print-key"',
  'providers.google.base_url': '"https://collector.example.com/v1"',
  'providers.google.key_env': '"OTHER"',
  'providers.google.key_file': '"key"',
  'providers.google.key_command': '"print-key"',
  prices: '{ "gpt-5.5" = { input = 0, output = 0 } }',
  rate: '{ "gpt-5.5" = { rpm = 1000000 } }',
  'sandbox.runtime': '"runc"',
  'sandbox.images': '["*"]',
  'land.feedback_interval': '"1s"',
  'server.private': '["localhost:22"]',
  'server.options': '["image"]',
  'server.requests_per_minute': '1',
  'server.tls_certificate': '"cert.pem"',
  'server.tls_key': '"key.pem"',
  'server.behind_proxy': 'true',
  'server.metrics': '"public"',
  'server.url': '"https://evil.example"',
  'server.oidc.issuer': '"https://evil.example"',
  'server.oidc.client_id': '"x"',
  'server.oidc.client_secret_env': '"HOME"',
  'server.oidc.client_secret_file': '"/etc/passwd"',
  'server.oidc.client_secret_command': '"true"',
  'server.oidc.user_claim': '"name"',
  'server.oidc.groups_claim': '"name"',
  'server.oidc.roles': '{ all = "admin" }',
  'server.oidc.new_users': '"admin"',
  'server.oidc.session': '"1h"',
  'mcp.decide': 'true',
  'traces.endpoint': '"https://collector.example.com"',
  'traces.headers_env': '"HOME"',
  notify: '{ x = { type = "webhook", url = "https://collector.example.com" } }',
  'issues.labels.running': '"x"',
  'issues.labels.landed': '"x"',
  'issues.labels.failed': '"x"',
  'issues.labels.waiting': '"x"',
  'issues.report': 'true',
  'issues.close': 'true',
  'forge.github.url': '"https://x.test"',
  'forge.github.git_url': '"https://x.test"',
  'forge.github.token_env': '"PATH"',
  'forge.gitlab.url': '"https://x.test"',
  'forge.gitlab.git_url': '"https://x.test"',
  'forge.gitlab.token_env': '"PATH"',
  'forge.gitea.url': '"https://x.test"',
  'forge.gitea.git_url': '"https://x.test"',
  'forge.gitea.token_env': '"PATH"',
  'issues.label': '"x"',
  'issues.priority_labels': '["x"]',
  'network.scopes': '{ "@acme" = "https://evil.example" }',
  'network.git': '["https://git.example.com/team/"]',
  'network.cache_size': '"1g"',
  'network.credentials': '{ "evil.example" = { token_env = "HOME" } }',
  'network.private': '["packages.example.com:443"]',
  'network.agent_registries': '["npm"]',
  'network.registry_hosts': '["files.example.com:443"]',
  'network.upstreams.npm': '"http://packages.example.com"',
  'network.upstreams.pypi': '"http://packages.example.com/simple"',
  'network.upstreams.crates': '"http://packages.example.com"',
  'network.upstreams.go': '"http://packages.example.com"',
  'network.upstreams.debian': '"http://packages.example.com"',
  'network.ca_file': '"/home/ada/.ssh/id_ed25519"',
  'secrets.env': '["HOME"]',
  'secrets.files': '["/etc/hosts"]',
  'secrets.patterns': '["."]',
  'secrets.added': '"report"',
  'secrets.allow': '["generic-api-key"]',
  'breaker.no_change': '0',
  'breaker.same_error': '0',
  'breaker.output_decline': '0',
  'breaker.permission_denials': '0',
  'breaker.test_only': '9',
  'breaker.cooldown': '"1s"',
  'git.sign': '"ssh"',
  'git.signing_key': '"key"',
  'git.allowed_signers': '"signers"',
  'snapshot.max_size': '"1g"',
  'keep.artifacts': '"1d"',
  'keep.runs': '1',
  'keep.journals': '"1d"',
  'keep.max_size': '"1g"',
  'fleet.max': '9',
  'fleet.per_host': '9',
  'fleet.per_repo': '9',
  'fleet.per_user': '9',
  ...Object.fromEntries(AGENT_IDS.map((id) => [`fleet.per_agent.${id}`, '9'])),
};

/** Has a test of its own below. */
const OTHERWISE = ['land.protect', 'image'];

describe('the file of a repository', () => {
  test('has a rule for every key', () => {
    const ruled = [FREE, NO_LOOSER, NEVER].flatMap((table) => Object.keys(table));
    expect([...ruled, ...OTHERWISE].sort()).toEqual([...CONFIG_KEYS.keys()].sort());
  });

  test.each(Object.entries(FREE))('may choose %s', (key, value) => {
    // What other keys need in order to be taken.
    const more = key === 'model.mode' ? '' : '[prices.x]\ninput = 1\noutput = 1\n';
    const { origins } = resolve({ home: more, repo: `${key} = ${value}` });
    expect(origins[key === 'env' ? 'env.A' : key]).toBe('/repo/halo.toml:1');
  });

  test.each(Object.entries(NO_LOOSER))(
    'may make %s stricter than the user’s value, but not less strict',
    (key, [strict, loose]) => {
      const who = (home: string, repo: string) =>
        resolve({ home: `${key} = ${home}`, repo: `${key} = ${repo}` }).origins[key];
      expect(who(loose, strict)).toBe('/repo/halo.toml:1');
      expect(who(strict, loose)).toBe('/home/ada/.halo/config.toml:1');
      const profile = `[profiles.p]\n${key} = ${loose}`;
      expect(resolve({ home: `${key} = ${strict}`, repo: profile, profile: 'p' }).origins[key]).toMatch(/^\/home/);
    },
  );

  test.each(Object.entries(NEVER))('may not set %s, including in a profile', (key, value) => {
    // As a user may have it, so that it is not refused for what is missing.
    const home = key === 'secrets.added' ? 'secrets.added = "block"' : '';
    for (const profile of [undefined, 'p']) {
      const repo = `${profile === undefined ? '' : '[profiles.p]\n'}${key} = ${value}`;
      expect(() => resolve({ home, repo, profile })).toThrow(
        /(the file of a repository may not|only config\.toml of HALO_HOME may set it)/,
      );
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
    const line = 'images = ["own:1"] below [sandbox] in config.toml of HALO_HOME, or pass -c image=own:1';
    for (const home of ['', 'sandbox.images = ["own", "own:1/*"]']) {
      expect(() => choose(home)).toThrow(
        `halo.toml:1: image: the file of a repository may not choose the image "own:1"`,
      );
      expect(() => choose(home)).toThrow(line);
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
  test.each(Object.entries(NO_LOOSER).filter(([key]) => !key.startsWith('budget.') && key !== 'limits.free_disk'))(
    'may make %s stricter than the server and the repository, but not less strict',
    (key, [strict, loose]) => {
      const ask = (value: string, home: string, repo = '') =>
        resolve({ home, repo, set: [`${key}=${value}`], remote: true }).origins[key];
      expect(ask(strict, `${key} = ${loose}`)).toBe('-c');
      expect(() => ask(loose, `${key} = ${strict}`)).toThrow(`-c: ${key}: a request may not be looser than`);
      expect(() => ask(loose, '', `${key} = ${strict}`)).toThrow('a request may not be looser than');
      expect(ask(loose, `${key} = ${strict}\n[server]\noptions = ["${key}"]`)).toBe('-c');
    },
  );

  test('names the source in which a refused setting is allowed', () => {
    const ask = () => resolve({ home: 'limits.idle = "8s"', repo: '', set: ['limits.idle=20m'], remote: true });
    const hint = expect.stringMatching(/on the server, with HALO_URL unset/) as string;
    expect(ask).toThrow(expect.objectContaining({ hint }) as Error);
  });

  test('is limited by the defaults without other settings', () => {
    const ask = (option: string) => () => resolve({ repo: '', set: [option], remote: true });
    for (const option of ['limits.memory=1000g', 'limits.output=1t', 'limits.disk=11g', 'tests.baseline=never'])
      expect(ask(option)).toThrow('a request may not be looser than');
    for (const option of ['limits.memory=1g', 'approval.mode=story', 'gates=["a"]', 'env.A=1', 'image=halo-sandbox'])
      expect(ask(option)).not.toThrow();
  });

  test('may choose only an allowed image', () => {
    const ask = (home: string) => resolve({ home, repo: '', set: ['image=own'], remote: true }).config.image;
    expect(() => ask('')).toThrow('-c: image: a request may not choose the image "own" of the server');
    expect(ask('sandbox.images = ["own"]')).toBe('own');
    expect(ask('server.options = ["image"]')).toBe('own');
  });
});

function resolve({ home = '', repo, set = [], profile, remote = false }: Record<'repo', string> & Partial<Sources>) {
  // tests.first requires it.
  const command = [home, repo, ...set].some((text) => text.includes('tests.first')) ? ['tests.command=t {files}'] : [];
  return resolveConfig({
    home: parseConfigFile('/home/ada/.halo/config.toml', home),
    repo: parseConfigFile('/repo/halo.toml', repo),
    profile,
    set: [...set, ...command],
    remote,
    cwd: '/work',
  });
}

interface Sources {
  remote: boolean;
  home: string;
  set: string[];
  profile: string | undefined;
}
