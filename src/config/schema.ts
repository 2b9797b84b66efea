import { z } from 'zod';
import { Fleet } from './fleet-schema.ts';
import { REGISTRIES, type RegistryName } from '../core/network.ts';
import { AGENT_IDS } from '../core/agent.ts';
import { MODEL_APIS } from '../core/model-api.ts';
import { key } from './key-facts.ts';
import {
  Author,
  BaseUrl,
  Commands,
  Duration,
  Globs,
  HostPort,
  Message,
  oneOf,
  Registries,
  ReportPaths,
  SecretPattern,
  Size,
  Text,
  VariableName,
  Variables,
  wholeNumber,
} from './rules.ts';
import { BreakerTable, RetryTable } from './schema-failures.ts';
import { provider } from './schema-provider.ts';
import { spending } from './schema-spending.ts';

const CPUS = 'must be a number from 0.1 to 1024';

/** `halo.toml` once all layers are put together. Durations become ms and sizes bytes. */
export const HaloToml = z.strictObject({
  agent: key(oneOf(...AGENT_IDS), [
    'word',
    'codex',
    'The agent: `codex`, `claude`, `opencode`, `gemini` or `command`.',
  ]),
  agents: z.strictObject({
    command: z.strictObject({
      run: key(Text.optional(), [
        'string',
        undefined,
        'Command line of the `command` agent; it reads the prompt on stdin.',
      ]),
      model: key(oneOf('none', ...MODEL_APIS), [
        'word',
        'none',
        'Which model API the `command` agent may use, at the address in HALO_MODEL_URL: `none`, `openai`, `anthropic` or `google`.',
      ]),
    }),
    opencode: z.strictObject({
      model: key(oneOf('openai', 'anthropic'), [
        'word',
        'anthropic',
        'Whose model opencode works with: `anthropic` or `openai`.',
      ]),
    }),
  }),
  setup: key(Commands, [
    'list of strings',
    [],
    'Commands that install what agent and gates need. They run before the agent and again before the gates.',
  ]),
  gates: key(Commands.optional(), [
    'list of strings',
    undefined,
    'Commands that must all exit 0, without network, on exactly the tree that will be committed. `[]` says that there are none.',
  ]),
  image: key(
    Text.refine((name) => /^[\w][\w.:/@-]*$/.test(name), 'must be the name of an image'),
    ['string', 'halo-sandbox', 'Image of setup, agent and gates.'],
  ),
  env: key(Variables, [
    'table of strings',
    {},
    'Environment variables of setup, agent and gates. The agent can read them: no secrets here.',
  ]),
  model: z.strictObject({
    name: key(Text.optional(), [
      'string',
      undefined,
      'Name of the model. Without it, `gpt-5.5` or, for Anthropic’s API, `claude-sonnet-5-5`, for Google’s, `gemini-2.5-pro`.',
    ]),
    allow: key(z.array(Text, { error: 'must be a list of names' }), [
      'list of strings',
      [],
      'Further models that the agent may ask for; the gateway refuses all others.',
    ]),
    ...provider('Where the provider of the model is, with its version. Only the gateway talks to it.'),
    mode: key(oneOf('live', 'record', 'replay'), [
      'word',
      'live',
      '`live`; `record`: live, and keep the traffic as a cassette; `replay`: answer from cassettes, offline and without a key.',
    ]),
    cassettes: key(Text.optional(), [
      'path',
      undefined,
      'Folder of the cassettes for `replay`. A relative path starts at the file that names it.',
    ]),
    timing: key(oneOf('off', 'recorded'), [
      'word',
      'off',
      '`recorded`: a cassette keeps when each piece of an answer came, and a replay repeats it; `off`: as fast as possible.',
    ]),
  }),
  providers: z.strictObject({
    openai: z.strictObject(provider('The same for OpenAI’s API alone, unless `[model]` says it.')),
    anthropic: z.strictObject(provider('The same for Anthropic’s API alone, unless `[model]` says it.')),
    google: z.strictObject(provider('The same for Google’s API alone, unless `[model]` says it.')),
  }),
  ...spending,
  limits: z.strictObject({
    cpus: key(z.number({ error: CPUS }).min(0.1, CPUS).max(1024, CPUS), ['number', 2, 'CPUs of a sandbox.']),
    memory: key(
      Size.refine((bytes) => bytes >= 64 * 1024 * 1024, 'must be at least "64m"'),
      ['size', '4g', 'Memory of a sandbox, without swap.'],
    ),
    pids: key(wholeNumber(16, 1_000_000), ['whole number', 512, 'Most processes and threads of a sandbox at once.']),
    files: key(wholeNumber(256, 1_048_576), ['whole number', 8192, 'Most open files of one process.']),
    file_size: key(Size, ['size', '1g', 'Largest file that can be written.']),
    disk: key(
      Size.refine((bytes) => bytes >= 16 * 1024 * 1024, 'must be at least "16m"'),
      ['size', '10g', 'Most that the workspace may hold; each file and folder counts as at least 4 KiB.'],
    ),
    free_disk: key(Size, [
      'size',
      '2g',
      'What must stay free on the disk of the engine: below it no sandbox starts, and the largest workspace is ended.',
    ]),
    wall: key(Duration, ['duration', '45m', 'Longest time of one command of a sandbox.']),
    idle: key(Duration, ['duration', '10m', 'Longest time of one command without any output.']),
    output: key(Size, ['size', '64m', 'Most output of one command.']),
  }),
  sandbox: z.strictObject({
    runtime: key(
      Text.refine((name) => /^[\w][\w.-]*$/.test(name), 'must be "auto" or the name of a runtime of the engine'),
      [
        'string',
        'auto',
        'Runtime of the sandboxes, as the engine names it: `runc`, `runsc`, …; `auto`: `runsc` where it is there and passes its probe, else the default of the engine.',
      ],
    ),
  }),
  network: z.strictObject({
    allow: key(z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }), [
      'list of host:port',
      [],
      'Where setup may connect to, through the gateway. Never the agent or the gates.',
    ]),
    channel: key(oneOf('auto', 'socket', 'stdio'), ['word', 'auto', '[The way](security.md#the-channel) to halo.']),
    private: key(z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }), [
      'list of host:port',
      [],
      'Those of the allowed names that may have an address which is [not public](network.md#addresses).',
    ]),
    registries: key(Registries, [
      'list of words',
      [],
      'Package registries that setup may read through the gateway’s [mirror](network.md#registries): `npm`, `pypi`, `crates`, `go`, `debian`.',
    ]),
    agent_registries: key(Registries, ['list of words', [], 'The same for the agent.']),
    registry_hosts: key(z.array(HostPort, { error: 'must be a list like ["files.example.com:443"]' }), [
      'list of host:port',
      [],
      'Further hosts to which answers of a registry may lead, with TLS.',
    ]),
    upstreams: z.strictObject(
      Object.fromEntries(REGISTRIES.map((name) => [name, upstream(name)])) as Record<
        RegistryName,
        ReturnType<typeof upstream>
      >,
    ),
    ca_file: key(Text.optional(), [
      'path',
      undefined,
      'PEM file of certificate authorities that setup and the gateway’s mirror trust besides the common ones, for networks with their own. Without it, the worker’s NODE_EXTRA_CA_CERTS.',
    ]),
  }),
  run: z.strictObject({
    parallel: key(wholeNumber(1, 64), [
      'whole number',
      1,
      'Most stories of a run at once. A story starts as soon as all that it depends on has landed.',
    ]),
    on_failure: key(oneOf('stop', 'continue'), [
      'word',
      'stop',
      'After a story failed for good: `stop` starting others, or `continue` with all that do not depend on it.',
    ]),
  }),
  secrets: z.strictObject({
    env: key(z.array(VariableName, { error: 'must be a list of names' }), [
      'list of variable names',
      [],
      'Variables of the worker that hold secrets, besides those whose names say so; they are [masked](security.md#secrets) wherever they turn up.',
    ]),
    files: key(z.array(Text, { error: 'must be a list of paths' }), [
      'list of paths',
      [],
      'Files on the worker’s machine that are masked, as a whole and line by line. A relative path starts at the file that names it.',
    ]),
    patterns: key(z.array(SecretPattern, { error: 'must be a list of regular expressions' }), [
      'list of regular expressions',
      [],
      'What else is masked, within a line. The syntax is RE2’s, which has no backreferences and no look-around.',
    ]),
    added: key(oneOf('report', 'block'), [
      'word',
      'report',
      'A story that adds what looks like a token or a private key: `report` it, or `block` it until a person approves.',
    ]),
  }),
  retry: RetryTable,
  breaker: BreakerTable,
  prd: z.strictObject({
    write_back: key(z.boolean({ error: 'must be true or false' }), [
      'true or false',
      true,
      'Mark stories that have landed as done in the PRD file, where that is on the machine of the worker and the run is the only one of its submit.',
    ]),
  }),
  tests: z.strictObject({
    removed: key(oneOf('report', 'block'), [
      'word',
      'report',
      'A story after which tests are removed, skipped or empty that were there before: `report` it, or `block` it.',
    ]),
    baseline: key(oneOf('auto', 'always', 'never'), [
      'word',
      'auto',
      'Whether gates also run on the base commit, beside the agent and once per commit: `auto` where they name tests, and when one fails.',
    ]),
    reports: key(ReportPaths, [
      'list of paths',
      [],
      'Files in which gates report their tests, JUnit XML or JSON of jest or vitest; what gates print is read in any case.',
    ]),
  }),
  approval: z.strictObject({
    mode: key(oneOf('never', 'story', 'run'), ['word', 'never', 'What [waits for a person](run-control.md#approval).']),
  }),
  land: z.strictObject({
    mode: key(oneOf('branch', 'ff', 'worktree'), [
      'word',
      'branch',
      '`branch`: leave the commits on the branch of the run; `ff`: fast-forward the branch of the checkout when all stories have landed; `worktree`: check them out then in a worktree of their own, `<HALO_HOME>/worktrees/<runId>`.',
    ]),
    protect: key(Globs, [
      'list of globs',
      [],
      'Paths that a story may only change with `halo approve`, besides those of [halo’s own list](proof.md#protected-paths). `!glob` takes paths out.',
    ]),
  }),
  git: z.strictObject({
    author: key(Author, ['name and email', 'halo <halo@localhost>', 'Author and committer of the commits.']),
    message: key(Message, [
      'string',
      'feat: [{id}] - {title}',
      'Commit message; `{id}`, `{title}` and `{run}` are filled in.',
    ]),
    sign: key(oneOf('no', 'ssh'), ['word', 'no', '`ssh`: sign commits and their notes with `git.signing_key`.']),
    signing_key: key(Text.optional(), [
      'path',
      undefined,
      'Private ssh key without a passphrase, on the worker’s machine. A relative path starts at the file that names it.',
    ]),
  }),
  fleet: Fleet,
  workspace: z.strictObject({
    transport: key(oneOf('auto', 'mount', 'stream'), [
      'word',
      'auto',
      'How the repository gets into a sandbox: `mount` of a mirror, `stream` of its objects, or `auto`.',
    ]),
  }),
});
export type HaloToml = z.output<typeof HaloToml>;

/** What the mirror of a registry reads from. */
function upstream(name: RegistryName) {
  const meanings: Record<RegistryName, string> = {
    npm: 'Base URL of what the mirror of npm reads from. Without it, the registry of the worker’s own npm.',
    pypi: 'The same for PyPI: its index, which ends with `/simple`. Without it, `https://pypi.org/simple`.',
    crates: 'The same for crates.io: its sparse index. Without it, `https://index.crates.io`.',
    go: 'The same for Go modules. Without it, `https://proxy.golang.org`.',
    debian: 'The same for Debian: the part before `/debian`. Without it, that of the worker’s own apt.',
  };
  return key(BaseUrl.optional(), ['URL', undefined, meanings[name]]);
}
