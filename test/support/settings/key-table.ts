import { AGENT_IDS } from '../../../src/core/agent.ts';
import type { Right } from '../../../src/core/access/access.ts';

/**
 * What each source may do with each key: `sets` a value, leaves what was `kept`, or is `refused`. A new key must be put
 * into this table: no key can be set because it was forgotten.
 */

/** Values are TOML. */
export interface Try {
  /** In config.toml of HALO_HOME. */
  base?: string;
  value: string;
  /** The right that decides between the two outcomes of `file` and `request`. */
  right: Right;
  file: Outcomes;
  request: Outcomes;
}

export type Outcome = 'sets' | 'kept' | 'refused';

/** For requests of callers without and with the right; the user on the machine of halo has all. */
export type Outcomes = readonly [without: Outcome, having: Outcome];

const SETS: Outcomes = ['sets', 'sets'];
const KEPT: Outcomes = ['kept', 'kept'];
const REFUSED: Outcomes = ['refused', 'refused'];

const row = (value: string, [file, request]: [Outcomes, Outcomes], base?: string): Try => ({
  ...(base !== undefined && { base }),
  ...{ value, right: 'land', file, request },
});

const anyone = (value: string): Try[] => [row(value, [SETS, SETS])];
const local = (value: string): Try[] => [row(value, [SETS, REFUSED])];
const never = (value: string): Try[] => [row(value, [REFUSED, REFUSED])];
const tighter = (strict: string, loose: string): Try[] => [
  row(strict, [SETS, SETS], loose),
  row(loose, [KEPT, REFUSED], strict),
];
const budget = (less: string, more: string): Try[] => [
  row(less, [SETS, REFUSED], more),
  row(more, [KEPT, REFUSED], less),
];
/** Stricter only in the file of a repository. */
const localLimit = budget;

/** A request needs the right. `allowed`: what it may set without, over `base`. */
const needing = (value: string, base: string, allowed = base): Try[] => [
  row(value, [SETS, ['refused', 'sets']], base),
  row(allowed, [SETS, SETS], base),
];
/** The file of a repository needs it as well. */
const reserved = (right: Right, value: string, { base, allowed = base }: { base: string; allowed?: string }): Try[] => [
  {
    ...row(
      value,
      [
        ['kept', 'sets'],
        ['refused', 'sets'],
      ],
      base,
    ),
    right,
  },
  { ...row(allowed, [SETS, SETS], base), right },
];

/** By key, in the schema’s order of rules. `land.protect`, `agents.claude.disallowed_tools` and `image` have tests of their own. */
export const KEY_TABLE: Record<string, Try[]> = {
  // What happens inside of a sandbox or of a run, within the limits and budgets of the owner.
  agent: anyone('"opencode"'),
  'agents.codex.subagents': anyone('true'),
  'agents.codex.live': anyone('true'),
  'agents.codex.config.model_verbosity': anyone('"high"'),
  'agents.codex.config.model_reasoning_summary': anyone('"detailed"'),
  'agents.codex.config.model_context_window': anyone('100000'),
  'agents.codex.config.model_auto_compact_token_limit': anyone('80000'),
  'agents.codex.config.tool_output_token_limit': anyone('5000'),
  'agents.codex.config.project_doc_max_bytes': anyone('1000'),
  'agents.codex.config.personality': anyone('"friendly"'),
  'agents.codex.config.features.view_image': anyone('false'),
  'agents.codex.config.features.goals': anyone('false'),
  'agents.claude.tools': anyone('["Bash", "Grep"]'),
  'agents.claude.subagents': anyone('true'),
  'agents.claude.teams': anyone('true'),
  'agents.opencode.session': anyone('"story"'),
  'agents.opencode.session_expiry': anyone('"1h"'),
  'agents.codex.session': anyone('"story"'),
  'agents.codex.session_expiry': anyone('"1h"'),
  'agents.claude.session': anyone('"story"'),
  'agents.claude.session_expiry': anyone('"1h"'),
  'agents.claude.config.language': anyone('"german"'),
  'agents.claude.config.outputStyle': anyone('"Explanatory"'),
  'agents.command.run': anyone('"./agent"'),
  'agents.command.answer': anyone('"signals"'),
  'agents.acp': anyone('{ qwen = { acp = "qwen --acp" } }'),
  'agents.command.model': anyone('"openai"'),
  'agents.opencode.model': anyone('"openai"'),
  'agents.opencode.answer': anyone('"signals"'),
  'agents.gemini.answer': anyone('"signals"'),
  fallback: anyone('["claude"]'),
  route: anyone('[{ attempt = 2, model = "gpt-5.4" }]'),
  'model.name': anyone('"gpt-5.5-mini"'),
  'model.effort': anyone('"high"'),
  'model.fallback': anyone('["gpt-5.5"]'),
  'model.allow': anyone('["gpt-5.5-nano"]'),
  'model.mode': anyone('"record"'),
  'model.timing': anyone('"recorded"'),
  'network.channel': anyone('"stdio"'),
  'run.parallel': anyone('4'),
  'engine.labels': anyone('["gpu"]'),
  'run.on_failure': anyone('"continue"'),
  'retry.attempts': anyone('5'),
  'retry.backoff': anyone('"1s"'),
  'retry.max_backoff': anyone('"10m"'),
  'retry.max_wait': anyone('"24h"'),
  'retry.multiplier': anyone('3'),
  'retry.jitter': anyone('0.5'),
  'retry.crashes': anyone('5'),
  'retry.agent.rule': anyone('"fresh"'),
  'retry.agent.backoff': anyone('"1s"'),
  'retry.story.rule': anyone('"fresh"'),
  'retry.story.backoff': anyone('"1s"'),
  'retry.gate.rule': anyone('"fresh"'),
  'retry.gate.backoff': anyone('"1s"'),
  'retry.tests.rule': anyone('"fresh"'),
  'retry.tests.backoff': anyone('"1s"'),
  'retry.tests.retries': anyone('3'),
  'retry.policy.rule': anyone('"fresh"'),
  'retry.policy.backoff': anyone('"1s"'),
  'retry.policy.retries': anyone('2'),
  'retry.environment.rule': anyone('"fresh"'),
  'retry.environment.backoff': anyone('"1s"'),
  'retry.environment.retries': anyone('3'),
  'retry.infrastructure.rule': anyone('"fresh"'),
  'retry.infrastructure.backoff': anyone('"1s"'),
  'retry.infrastructure.retries': anyone('3'),
  'retry.provider.rule': anyone('"fresh"'),
  'retry.provider.backoff': anyone('"1s"'),
  'retry.provider.retries': anyone('3'),
  'retry.budget.rule': anyone('"wait"'),
  'retry.budget.backoff': anyone('"1s"'),
  'retry.budget.retries': anyone('1'),
  'prompt.before': anyone('"prompts/engineer.md"'),
  'prompt.standards': anyone('["docs/standards.md"]'),
  'prompt.test_standards': anyone('["docs/standards.md#Tests"]'),
  'prompt.specs': anyone('["docs/**"]'),
  'prompt.vision': anyone('"docs/vision.md"'),
  'prompt.prd': anyone('"whole"'),
  'prompt.max_tokens': anyone('1000'),
  'tests.refactor': anyone('true'),
  'tests.broken_base': anyone('"retry"'),
  // Files of this machine, and what counts as a test.
  'snapshot.inputs': local('["deps.lock"]'),
  'model.cassettes': local('"tapes"'),
  'tests.command': local('"pytest -q {files}"'),
  'tests.files': local('["tests/**"]'),
  // Only stricter.
  'snapshot.mode': tighter('"off"', '"auto"'),
  'snapshot.recheck': tighter('0.5', '0.1'),
  'budget.story_usd': budget('1', '2'),
  'budget.run_usd': budget('1', '2'),
  'budget.day_usd': budget('1', '2'),
  'budget.story_tokens': budget('1', '2'),
  'budget.run_tokens': budget('1', '2'),
  'budget.user_usd': budget('1', '2'),
  'budget.repository_usd': budget('1', '2'),
  'budget.user_tokens': budget('1', '2'),
  'budget.repository_tokens': budget('1', '2'),
  'budget.day_tokens': budget('1', '2'),
  'limits.cpus': tighter('1', '1.5'),
  'limits.memory': tighter('"900m"', '"1g"'),
  'limits.pids': tighter('100', '1000'),
  'limits.files': tighter('300', '3000'),
  'limits.file_size': tighter('"900m"', '"1g"'),
  'limits.disk': tighter('"900m"', '"1g"'),
  'limits.free_disk': localLimit('"10g"', '"9g"'),
  'limits.wall': tighter('"50m"', '"1h"'),
  'limits.idle': tighter('"50m"', '"1h"'),
  'limits.output': tighter('"900m"', '"1g"'),
  'approval.mode': tighter('"story"', '"run"'),
  'approval.by': tighter('"others"', '"anyone"'),
  'prd.criteria': tighter('"required"', '"warn"'),
  'tests.first': tighter('"on"', '"report"'),
  'review.when': tighter('"always"', '"ask"'),
  'tests.removed': tighter('"block"', '"report"'),
  'land.push': tighter('"branch"', '"base"'),
  'land.feedback_rounds': tighter('1', '3'),
  'land.unchanged': tighter('"fail"', '"pass"'),
  'land.hidden_characters': tighter('"refuse"', '"block"'),
  'tests.baseline': tighter('"always"', '"auto"'),
  'workspace.transport': tighter('"stream"', '"mount"'),
  'secrets.added': tighter('"block"', '"report"'),
  'prd.write_back': tighter('false', 'true'),
  // Only the user who runs halo.
  'agents.codex.version': never('"1.2.3"'),
  'agents.claude.version': never('"1.2.3"'),
  'agents.opencode.version': never('"1.2.3"'),
  'agents.gemini.version': never('"1.2.3"'),
  'choice.agents': never('["claude"]'),
  'choice.models': never('["gpt-5.5"]'),
  'model.base_url': never('"https://collector.example.com/v1"'),
  'model.key_env': never('"OTHER"'),
  'model.keys': never('[{ key_env = "OTHER" }]'),
  'providers.openai.keys': never('[{ key_env = "OTHER" }]'),
  'providers.anthropic.keys': never('[{ key_env = "OTHER" }]'),
  'providers.google.keys': never('[{ key_env = "OTHER" }]'),
  'model.key_file': never('"key"'),
  'model.key_command': never('"print-key"'),
  'providers.openai.base_url': never('"https://collector.example.com/v1"'),
  'providers.openai.key_env': never('"OTHER"'),
  'providers.openai.key_file': never('"key"'),
  'providers.openai.key_command': never('"print-key"'),
  'providers.anthropic.base_url': never('"https://collector.example.com/v1"'),
  'providers.anthropic.key_env': never('"OTHER"'),
  'providers.anthropic.key_file': never('"key"'),
  'providers.anthropic.key_command': never('"print-key"'),
  'providers.google.base_url': never('"https://collector.example.com/v1"'),
  'providers.google.key_env': never('"OTHER"'),
  'providers.google.key_file': never('"key"'),
  'providers.google.key_command': never('"print-key"'),
  prices: never('{ "gpt-5.5" = { input = 0, output = 0 } }'),
  rate: never('{ "gpt-5.5" = { rpm = 1000000 } }'),
  'sandbox.runtime': never('"runc"'),
  'sandbox.images': never('["*"]'),
  'sandbox.service_images': never('["*"]'),
  'land.feedback_interval': never('"1s"'),
  'server.private': never('["localhost:22"]'),
  'server.options': never('["image"]'),
  'server.requests_per_minute': never('1'),
  'server.tls_certificate': never('"cert.pem"'),
  'server.tls_key': never('"key.pem"'),
  'server.behind_proxy': never('true'),
  'server.metrics': never('"public"'),
  'server.url': never('"https://evil.example"'),
  'server.oidc.issuer': never('"https://evil.example"'),
  'server.oidc.client_id': never('"x"'),
  'server.oidc.client_secret_env': never('"HOME"'),
  'server.oidc.client_secret_file': never('"/etc/passwd"'),
  'server.oidc.client_secret_command': never('"true"'),
  'server.oidc.user_claim': never('"name"'),
  'server.oidc.groups_claim': never('"name"'),
  'server.oidc.roles': never('{ all = "admin" }'),
  'server.oidc.new_users': never('"admin"'),
  'server.oidc.session': never('"1h"'),
  'mcp.decide': never('true'),
  'traces.endpoint': never('"https://collector.example.com"'),
  'traces.headers_env': never('"HOME"'),
  notify: never('{ x = { type = "webhook", url = "https://collector.example.com" } }'),
  'issues.labels.running': never('"x"'),
  'issues.labels.landed': never('"x"'),
  'issues.labels.failed': never('"x"'),
  'issues.labels.waiting': never('"x"'),
  'issues.report': never('true'),
  'issues.close': never('true'),
  'forge.github.url': never('"https://x.test"'),
  'forge.github.git_url': never('"https://x.test"'),
  'forge.github.token_env': never('"PATH"'),
  'forge.gitlab.url': never('"https://x.test"'),
  'forge.gitlab.git_url': never('"https://x.test"'),
  'forge.gitlab.token_env': never('"PATH"'),
  'forge.gitea.url': never('"https://x.test"'),
  'forge.gitea.git_url': never('"https://x.test"'),
  'forge.gitea.token_env': never('"PATH"'),
  'issues.label': never('"x"'),
  'issues.priority_labels': never('["x"]'),
  'network.scopes': never('{ "@acme" = "https://evil.example" }'),
  'network.git': never('["https://git.example.com/team/"]'),
  'network.cache_size': never('"1g"'),
  'network.credentials': never('{ "evil.example" = { token_env = "HOME" } }'),
  'network.private': never('["packages.example.com:443"]'),
  'network.agent_registries': never('["npm"]'),
  'network.registry_hosts': never('["files.example.com:443"]'),
  'network.upstreams.npm': never('"http://packages.example.com"'),
  'network.upstreams.pypi': never('"http://packages.example.com/simple"'),
  'network.upstreams.crates': never('"http://packages.example.com"'),
  'network.upstreams.go': never('"http://packages.example.com"'),
  'network.upstreams.debian': never('"http://packages.example.com"'),
  'network.ca_file': never('"/home/ada/.ssh/id_ed25519"'),
  'secrets.env': never('["HOME"]'),
  'secrets.files': never('["/etc/hosts"]'),
  'secrets.allow': never('["generic-api-key"]'),
  'secrets.patterns': never('["."]'),
  'breaker.no_change': never('0'),
  'breaker.same_error': never('0'),
  'breaker.output_decline': never('0'),
  'breaker.permission_denials': never('0'),
  'breaker.test_only': never('9'),
  'breaker.cooldown': never('"1s"'),
  'git.sign': never('"ssh"'),
  'git.signing_key': never('"key"'),
  'git.allowed_signers': never('"signers"'),
  'snapshot.max_size': never('"1g"'),
  'keep.artifacts': never('"1d"'),
  'keep.runs': never('1'),
  'keep.journals': never('"1d"'),
  'keep.max_size': never('"1g"'),
  engines: never('[{ name = "a", address = "unix:///a.sock" }]'),
  'fleet.max': never('9'),
  'fleet.per_host': never('9'),
  'fleet.per_repo': never('9'),
  'fleet.per_user': never('9'),
  ...Object.fromEntries(AGENT_IDS.map((id) => [`fleet.per_agent.${id}`, never('9')])),
  // What weakens the proof, the network or a stop of a person: requests need the right to land.
  gates: needing('["true"]', '["npm test"]', '["npm test", "npm run lint"]'),
  setup: needing('["npm ci"]', '["true"]'),
  env: needing('{ A = "2" }', '{ A = "1" }'),
  services: needing('{ db = { image = "postgres:16" } }', '{ db = { image = "postgres:15" } }'),
  'tests.reports': needing('["report.xml"]', '["junit.xml"]'),
  'review.agent': needing('"claude"', '"codex"'),
  'review.model': needing('"gpt-5.5-mini"', '"gpt-5.5"'),
  'network.allow': needing(
    '["packages.example.com:443"]',
    '["a.example.com:443", "b.example.com:443"]',
    '["b.example.com:443"]',
  ),
  'network.registries': needing('["pypi"]', '["npm"]', '[]'),
  'land.pull_requests': needing('"story"', '"run"'),
  'land.stop_label': needing('"wip"', '"halt"'),
  // What is more than work on the branch of the run, in the name of halo: the file of a repository needs it as well.
  'land.mode': reserved('land', '"ff"', { base: '"worktree"', allowed: '"branch"' }),
  'git.author': reserved('land', '"Boss <boss@example.com>"', { base: '"halo <halo@example.com>"' }),
  'git.message': reserved('land', '"{id}"', { base: '"{title}"' }),
  // Who may answer a question may also say what happens without an answer.
  'answers.deadline': reserved('answer', '"1s"', { base: '"8h"' }),
  'answers.default': reserved('answer', '"first-option"', { base: '"skip"' }),
};

/** Lists that are joined, and images, which the owner lists. */
export const OTHERWISE = ['land.protect', 'agents.claude.disallowed_tools', 'image'];

/** Of the models in the table, for the budgets in it. */
const PRICES = Object.fromEntries(
  ['gpt-5.5-mini', 'gpt-5.5-nano'].map((name) => [`prices."${name}"`, '{ input = 1, output = 1 }']),
);

/** The text of config.toml with these settings, and with what others need in order to be taken. */
export function homeFile(settings: Record<string, string>): string {
  const needed = {
    'agents.command.run': '"true"',
    gates: '["true"]',
    'tests.command': '"t {files}"',
    'review.agent': '"codex"',
    engines: '[{ name = "gpu", address = "unix:///gpu.sock", labels = ["gpu"] }]',
    ...PRICES,
  };
  return Object.entries({ ...needed, ...settings })
    .map(([key, value]) => `${key} = ${value}\n`)
    .join('');
}
