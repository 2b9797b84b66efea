import { z } from 'zod';
import { EnginesList, EngineTable } from './engines-table.ts';
import { Fleet } from './fleet-table.ts';
import { AGENT_IDS } from '../../core/agent.ts';
import { didYouMean } from '../../core/text/did-you-mean.ts';
import { EFFORTS } from '../../core/agent-options.ts';
import { key } from './key-metadata.ts';
import { ANYONE, landRight, LOCAL, needsRight, owner, tighten } from '../trust/key-trust.ts';
import {
  Author,
  Commands,
  HostPath,
  Message,
  oneOf,
  AllowedSecret,
  SecretPattern,
  Text,
  VariableName,
  Variables,
  wholeNumber,
} from './values.ts';
import { AgentsTable } from './agents-table.ts';
import { ChoiceTable, FallbackList, RouteList } from './choice-table.ts';
import { AnswersTable, BreakerTable, RetryTable } from './retry-table.ts';
import { NetworkTable } from './network-table.ts';
import { PromptTable } from './prompt-table.ts';
import { provider } from './provider-table.ts';
import { LimitsTable, SandboxTable } from './sandbox-table.ts';
import { ForgeTable, IssuesTable, LandTable } from './landing-tables.ts';
import { McpTable, ServerTable } from './server-table.ts';
import { NotifyTable } from '../../features/notifications/config/notify-table.ts';
import { TracesTable } from '../../features/telemetry/config/traces-table.ts';
import { ServicesTable } from '../../features/services/config/services-table.ts';
import { KeepTable } from '../../features/retention/config/keep-table.ts';
import { ReviewTable } from './review-table.ts';
import { SnapshotTable } from './snapshot-table.ts';
import { spending } from './spending-table.ts';
import { TestsTable } from './tests-table.ts';

/** Tables for this machine and its server, which are not part of the configuration of a run. */
const HOST = {
  fleet: Fleet,
  engines: EnginesList,
  keep: KeepTable,
  forge: ForgeTable,
  server: ServerTable,
  mcp: McpTable,
  notify: NotifyTable,
  traces: TracesTable,
};

const Tables = z.strictObject({
  agent: key(
    Text.max(40, 'must be at most 40 characters long'),
    [
      'word',
      'codex',
      `The agent: ${AGENT_IDS.map((id) => `\`${id}\``).join(', ')}, or the name of an \`[agents.<name>]\`.`,
    ],
    ANYONE,
  ),
  fallback: FallbackList,
  route: RouteList,
  choice: ChoiceTable,
  agents: AgentsTable,
  setup: key(
    Commands,
    [
      'list of strings',
      [],
      'Commands that install dependencies, before the agent and again before the gates, unless a [snapshot](snapshots.md) has their result. Changes of tracked files are [reverted before each gate](proof.md#gates).',
    ],
    landRight('unproven'),
  ),
  gates: key(
    Commands.optional(),
    [
      'list of strings',
      undefined,
      'Required. Commands that must all exit 0, without network, on exactly the tree that will be committed. Files that git ignores may come from setup and earlier gates. `[]` means no gates.',
    ],
    landRight('append'),
  ),
  image: key(
    Text.refine((name) => /^[\w][\w.:/@-]*$/.test(name), 'must be the name of an image'),
    ['string', 'halo-sandbox', '[Image](setup.md#images) of setup, agent and gates.'],
    { rule: 'image' },
  ),
  env: key(
    Variables,
    [
      'table of strings',
      {},
      'Environment variables of setup, agent and gates. The agent can read them: do not set secrets here.',
    ],
    landRight('unproven'),
  ),
  model: z.strictObject({
    name: key(
      Text.optional(),
      [
        'string',
        undefined,
        'Name of the model. Default: `gpt-5.5`; with Anthropic’s API, `claude-sonnet-5-5`; with Google’s API, `gemini-2.5-pro`.',
      ],
      ANYONE,
    ),
    effort: key(
      oneOf(...EFFORTS).optional(),
      [
        'word',
        undefined,
        'How much the model [reasons](agents.md#effort-tools-and-subagents): `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Default: as agent and model decide.',
      ],
      ANYONE,
    ),
    fallback: key(
      z.array(Text, { error: 'must be a list of names' }),
      [
        'list of strings',
        [],
        '[Models of the same provider](gateway.md#fallback-models), in this order, for attempts that begin during a long pause of `model.name`.',
      ],
      ANYONE,
    ),
    allow: key(
      z.array(Text, { error: 'must be a list of names' }),
      ['list of strings', [], 'Additional models that the agent may request; the gateway refuses all others.'],
      ANYONE,
    ),
    ...provider('Base URL of the model provider, including the API version. Only the gateway connects to it.'),
    mode: key(
      oneOf('live', 'record', 'replay'),
      [
        'word',
        'live',
        '`live`; `record`: live, and keep the traffic as a cassette; `replay`: answer from cassettes, offline and without a key.',
      ],
      ANYONE,
    ),
    cassettes: key(HostPath.optional(), ['path', undefined, 'Folder of the cassettes for `replay`.'], LOCAL),
    timing: key(
      oneOf('off', 'recorded'),
      [
        'word',
        'off',
        '`recorded`: a cassette contains the time of each part of an answer, and a replay repeats it; `off`: as fast as possible.',
      ],
      ANYONE,
    ),
  }),
  providers: z.strictObject({
    openai: z.strictObject(provider('Base URL of this API, unless `model.base_url` is set.')),
    anthropic: z.strictObject(provider('Base URL of this API, unless `model.base_url` is set.')),
    google: z.strictObject(provider('Base URL of this API, unless `model.base_url` is set.')),
  }),
  ...spending,
  limits: LimitsTable,
  sandbox: SandboxTable,
  services: ServicesTable,
  engine: EngineTable,
  network: NetworkTable,
  run: z.strictObject({
    parallel: key(
      wholeNumber(1, 64),
      [
        'whole number',
        1,
        'Maximum concurrent stories of a run. A story starts as soon as all its dependencies have landed.',
      ],
      ANYONE,
    ),
    on_failure: key(
      oneOf('stop', 'continue'),
      [
        'word',
        'stop',
        'After a story has failed: `stop` starts no other story, `continue` runs all stories that do not depend on it.',
      ],
      ANYONE,
    ),
  }),
  secrets: z.strictObject({
    env: key(
      z.array(VariableName, { error: 'must be a list of names' }),
      [
        'list of variable names',
        [],
        'Further variables of the worker to [mask](security.md#secrets) in all output. Those whose names suggest a secret are always masked.',
      ],
      owner('choose which secrets of this machine are masked'),
    ),
    files: key(
      z.array(HostPath, { error: 'must be a list of paths' }),
      ['list of paths', [], 'Files on the worker’s machine that are masked, as a whole and line by line.'],
      owner('choose which secrets of this machine are masked'),
    ),
    patterns: key(
      z.array(SecretPattern, { error: 'must be a list of regular expressions' }),
      [
        'list of regular expressions',
        [],
        'Additional patterns to mask, within a line, in RE2 syntax (no backreferences and no look-around).',
      ],
      owner('choose which text is masked'),
    ),
    added: key(
      oneOf('report', 'block'),
      [
        'word',
        'report',
        'If a story adds text that looks like a secret: `report` it, or `block` the story until it is approved.',
      ],
      tighten(['report', 'block']),
    ),
    allow: key(
      z.array(AllowedSecret, { error: 'must be a list of rules, like ["generic-api-key:test/**"]' }),
      [
        'list of strings',
        [],
        'Rules that do not count in [what a story adds](security.md#what-a-story-adds): `rule` or `rule:glob`.',
      ],
      owner('allow probable secrets to land'),
    ),
  }),
  retry: RetryTable,
  breaker: BreakerTable,
  prd: z.strictObject({
    write_back: key(
      z.boolean({ error: 'must be true or false' }),
      ['true or false', true, 'Mark passed stories as done [in the PRD file](prd.md#progress-in-the-file).'],
      tighten([true, false]),
    ),
    criteria: key(
      oneOf('warn', 'required'),
      [
        'word',
        'warn',
        'A story without acceptance criteria that is to be done: `warn`, or refuse the PRD if they are `required`.',
      ],
      tighten(['warn', 'required']),
    ),
  }),
  prompt: PromptTable,
  tests: TestsTable,
  review: ReviewTable,
  snapshot: SnapshotTable,
  answers: AnswersTable,
  approval: z.strictObject({
    mode: key(
      oneOf('never', 'story', 'run'),
      [
        'word',
        'never',
        'What [waits for approval](run-control.md#approval): `never`, each `story`, or the result of the `run`.',
      ],
      tighten(['never', 'run', 'story']),
    ),
    by: key(
      oneOf('anyone', 'others'),
      [
        'word',
        'anyone',
        'Who may approve: `anyone` with the right to, or only `others` than the users who submitted the run or changed its plan or settings.',
      ],
      tighten(['anyone', 'others']),
    ),
  }),
  land: LandTable,
  git: z.strictObject({
    author: key(
      Author,
      ['name and email', 'halo <halo@localhost>', 'Author and committer of the commits.'],
      needsRight('land'),
    ),
    message: key(
      Message,
      [
        'string',
        'feat: [{id}] - {title}',
        'Commit message, with [placeholders](prd.md#commit-messages) such as `{type}`, `{id}` and `{title}`.',
      ],
      needsRight('land'),
    ),
    sign: key(
      oneOf('no', 'ssh'),
      ['word', 'no', '`ssh`: sign commits and their notes with `git.signing_key`.'],
      owner('choose the signing key'),
    ),
    signing_key: key(
      HostPath.optional(),
      ['path', undefined, 'Private ssh key without a passphrase, on the worker’s machine.'],
      owner('choose the signing key'),
    ),
    allowed_signers: key(
      HostPath.optional(),
      [
        'path',
        undefined,
        'Signers that `halo verify` accepts: a file like git’s `gpg.ssh.allowedSignersFile`. Default: only `git.signing_key`.',
      ],
      owner('choose the allowed signers'),
    ),
  }),
  ...HOST,
  issues: IssuesTable,
  workspace: z.strictObject({
    transport: key(
      oneOf('auto', 'mount', 'stream'),
      [
        'word',
        'auto',
        'How a sandbox receives the repository: `mount` a view of its mirror, `stream` its objects; `auto`: `mount` if possible.',
      ],
      tighten(['mount', 'auto', 'stream']),
    ),
  }),
});

/** The settings of `halo.toml` after all layers are merged. Durations are converted to ms and sizes to bytes. */
export const HaloToml = Tables.superRefine(({ agent, agents, review }, context) => {
  const names = [...AGENT_IDS, ...Object.keys(agents.acp)];
  const list = names.map((name) => `"${name}"`).join(', ');
  const chosen: [path: string[], name: string | undefined][] = [
    [['agent'], agent],
    [['review', 'agent'], review.agent],
  ];
  for (const [path, name] of chosen) {
    if (name === undefined || names.includes(name)) continue;
    const message = `must be one of ${list}, or have a table [agents.<name>] with acp${didYouMean(name, names)}`;
    context.addIssue({ code: 'custom', path, message });
  }
});
export type HaloToml = z.output<typeof HaloToml>;

export type HostTable = keyof typeof HOST;
export const HOST_TABLES = Object.keys(HOST) as HostTable[];
