import { z } from 'zod';
import { Fleet } from './fleet-schema.ts';
import { AGENT_IDS } from '../core/agent.ts';
import { MODEL_APIS } from '../core/model-api.ts';
import { key } from './key-facts.ts';
import {
  Author,
  Commands,
  Globs,
  Message,
  oneOf,
  ReportPaths,
  SecretPattern,
  Text,
  VariableName,
  Variables,
  wholeNumber,
} from './schema/values.ts';
import { BreakerTable, RetryTable } from './schema/retry-table.ts';
import { NetworkTable } from './schema-network.ts';
import { provider } from './schema-provider.ts';
import { LimitsTable, SandboxTable } from './schema-sandbox.ts';
import { ServerTable } from './schema-server.ts';
import { spending } from './schema-spending.ts';

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
    'Commands that install what agent and gates need. They run before the agent and again before the gates; what they change in tracked files is [undone before each gate](proof.md#gates).',
  ]),
  gates: key(Commands.optional(), [
    'list of strings',
    undefined,
    'Commands that must all exit 0, without network, on exactly the tree that will be committed. What git ignores may come from setup and earlier gates. `[]` says that there are none.',
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
  limits: LimitsTable,
  sandbox: SandboxTable,
  network: NetworkTable,
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
    push: key(oneOf('branch', 'base'), [
      'word',
      'branch',
      'Of a repository behind an address, `halo land` pushes the branch of the run, `halo/<runId>`; `base`: it fast-forwards the branch that the run started from.',
    ]),
    unchanged: key(oneOf('pass', 'fail'), [
      'word',
      'pass',
      'A story whose agent reports success without changing a file: `pass` it without a commit if the gates pass on the commit that it started from, or `fail` the attempt. Without gates the attempt fails.',
    ]),
    hidden_characters: key(oneOf('report', 'block', 'refuse'), [
      'word',
      'block',
      'A story that adds [hidden characters](commands.md#hidden-characters) to text files: `report` it, `block` it until a person approves, or `refuse` it.',
    ]),
    protect: key(Globs, [
      'list of globs',
      [],
      'Paths that a story may only change with `halo approve`, besides those of [halo’s own list](proof.md#protected-paths). `!glob` takes paths out. At most 100 globs of 200 characters, 4000 together.',
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
    allowed_signers: key(Text.optional(), [
      'path',
      undefined,
      'Whose signatures `halo verify` accepts: a file as git’s `gpg.ssh.allowedSignersFile`. Without one, `git.signing_key` alone. A relative path starts at the file that names it.',
    ]),
  }),
  fleet: Fleet,
  server: ServerTable,
  workspace: z.strictObject({
    transport: key(oneOf('auto', 'mount', 'stream'), [
      'word',
      'auto',
      'How the repository gets into a sandbox: `mount` of a view of its mirror, `stream` of its objects, or `auto`.',
    ]),
  }),
});
export type HaloToml = z.output<typeof HaloToml>;
