import { stringify } from 'smol-toml';
import * as z from 'zod';
import type { AgentActivity, AgentOutcome } from '../core/agent.ts';
import { NODE, programDir, programPath } from '../core/agent-program.ts';
import { HaloError } from '../core/failure/errors.ts';
import { defined } from '../lib/guards.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/text.ts';
import {
  findSession,
  fromWorkspace,
  launchScript,
  truncateMiddle,
  type AgentAdapter,
  type AgentEnd,
  type AgentIntent,
  type AgentLaunch,
  type BuildDescription,
  type LiveSession,
  type ParsedLine,
} from './adapter.ts';
import { isAnswer, PLAN_SCHEMA, readAnswer, REVIEW_SCHEMA, STRICT_ANSWER_SCHEMA, TESTS_SCHEMA } from './answer.ts';
import { explainEnd, explainError, type ErrorMeaning } from './outcome.ts';

/** docker/sandbox/codex-client.mjs, in halo's image. */
const CLIENT = `${programDir('codex')}/client.mjs`;

const HELP = '--- help ---';

/** Reports the names of the enabled features, and the help page of `codex exec`. */
const describeCodexBuild: BuildDescription = {
  script: (version) => `codex=${programPath('codex', version)}
"$codex" features list
echo '${HELP}'
exec "$codex" exec --help
`,
  read(output) {
    const [features = '', help = ''] = output.split(`${HELP}\n`);
    // A line is a name, its stage in words, and whether it is on.
    const on = features.split('\n').flatMap((line) => /^([\w-]+)\s.*\strue$/.exec(line.trim())?.[1] ?? []);
    return { features: on, help: help.trim() };
  },
};

/** The Codex CLI, from version 0.169.0. */
export const codex: AgentAdapter = {
  id: 'codex',
  title: 'Codex',
  guidanceFiles: [],
  hasAnswerSchema: true,
  launch: launchCodex,
  openSession: (intent) => (isLive(intent) ? openCodexSession() : undefined),
  describeBuild: describeCodexBuild,
  createReader: () => parseCodexLine,
  findDenial: findCodexDenial,
  outcome: readCodexOutcome,
};

/**
 * The log line on stderr with which Codex refuses an action of its model; its event stream does not report it. The advice
 * to use a safer way than `rm -f`, which models follow immediately, does not count.
 */
const REFUSAL =
  /codex_core::tools::router: error=((?:exec_command failed: CreateProcess \{ message: "Rejected\((?!.*Use a safer approach)|approval policy is |patch rejected: ).*)/;

/** The first refusal on stderr. */
function findCodexDenial(stderrTail: string): string | undefined {
  return REFUSAL.exec(stderrTail)?.[1];
}

/**
 * Starts `codex exec` with a configuration and an answer schema of its own; or, to read messages while it works, its app
 * server by a client in the sandbox, which prints the same lines. Throws INTERNAL without a model route.
 */
function launchCodex(intent: AgentIntent): AgentLaunch {
  if (intent.modelUrl === undefined) throw new HaloError('INTERNAL', 'Codex has no model route.');
  const codexHome = `${intent.home}/.codex`;
  const schemaFile = `${codexHome}/answer.schema.json`;
  const { sessionDir } = intent;
  const link = sessionDir === undefined ? '' : linkSessions(codexHome, sessionDir);
  return {
    script: link + writeScript(intent, schemaFile),
    ...defined({ sessionDir }),
    env: { CODEX_HOME: codexHome, HALO_MODEL_KEY: intent.gatewayToken },
    files: {
      [`${codexHome}/config.toml`]: writeConfig(intent, intent.modelUrl),
      [schemaFile]: `${JSON.stringify(SCHEMAS[intent.answers ?? 'story'], null, 2)}\n`,
    },
  };
}

/**
 * Codex keeps each session in `sessions`, in a file with its date, time and id as name, and continues it there. The first
 * one is that of the story: later ones are of its subagents.
 */
function linkSessions(codexHome: string, sessionDir: string): string {
  return `mkdir -p ${codexHome} && ln -s ${sessionDir} ${codexHome}/sessions
${findSession(`${sessionDir}/*/*/*/rollout-*.jsonl`)}`;
}

function isLive({ live, options }: AgentIntent): boolean {
  return live === true && options.live === true;
}

const SCHEMAS = { story: STRICT_ANSWER_SCHEMA, tests: TESTS_SCHEMA, plan: PLAN_SCHEMA, review: REVIEW_SCHEMA };

function writeScript(intent: AgentIntent, schemaFile: string): string {
  const { version, model, sessionDir } = intent;
  const program = programPath('codex', version);
  const schema = shellQuote(schemaFile);
  if (isLive(intent)) {
    // With the model: a session that continues would use its own.
    const resumed = sessionDir === undefined ? '' : ` \${session:+$session ${shellQuote(model)}}`;
    const command = `${NODE} ${CLIENT} ${program} ${schema}${resumed}`;
    return launchScript({ title: 'Codex', program: CLIENT, command, test: '-f' });
  }
  const flags = `--json --strict-config --skip-git-repo-check --output-schema ${schema}`;
  const start = sessionDir === undefined ? 'exec' : 'exec ${session:+resume $session}';
  return launchScript({ title: 'Codex', program, version, command: `${program} ${start} ${flags} -` });
}

/** halo's own settings come last, so that no option replaces them. */
function writeConfig({ model, options = {} }: AgentIntent, modelUrl: string): string {
  const { effort, subagents, config = {} } = options;
  return stringify({
    ...config,
    ...(effort === undefined ? {} : { model_reasoning_effort: effort }),
    model,
    model_provider: 'halo',
    // The container is the sandbox: the one inside Codex cannot work there and would refuse every command.
    approval_policy: 'never',
    sandbox_mode: 'danger-full-access',
    // A login shell would let /etc/profile reset PATH.
    allow_login_shell: false,
    check_for_update_on_startup: false,
    web_search: 'disabled',
    analytics: { enabled: false },
    features: {
      ...(config.features as Record<string, boolean> | undefined),
      ...(subagents === undefined ? {} : { multi_agent: subagents }),
      plugins: false,
      unbounded_connection_retries: false,
    },
    shell_environment_policy: { ignore_default_excludes: false },
    model_providers: {
      halo: {
        name: 'halo',
        base_url: modelUrl,
        env_key: 'HALO_MODEL_KEY',
        wire_api: 'responses',
        request_max_retries: 3,
        stream_max_retries: 4,
        stream_idle_timeout_ms: 300_000,
      },
    },
  });
}

const sign = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['message.queued', 'message.received']), id: z.string() }),
  z.object({ type: z.literal('turn.completed') }),
]);

/** Messages become part of the turn that runs, while it executes something, or a turn of their own. */
function openCodexSession(): LiveSession {
  return {
    listens: true,
    marks: ['"message.queued"', '"message.received"', '"turn.completed"'],
    begin: (text) => inputLine({ text }),
    tell: inputLine,
    read(line) {
      const { data } = sign.safeParse(parseUntrustedJson(line));
      if (data?.type === 'turn.completed') return { idle: true };
      if (data?.type === 'message.queued') return { received: [data.id] };
      return data === undefined ? {} : { taken: [data.id] };
    },
  };
}

function inputLine({ id, text }: { id?: string; text: string }): string {
  return `${JSON.stringify({ id, text })}\n`;
}

const item = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agent_message'), text: z.string() }),
  z.object({
    type: z.literal('command_execution'),
    command: z.string(),
    aggregated_output: z.string().default(''),
    exit_code: z.number().nullish(),
  }),
  z.object({
    type: z.literal('file_change'),
    changes: z.array(z.object({ path: z.string(), kind: z.enum(['add', 'update', 'delete']) })),
    status: z.string(),
  }),
  z.object({ type: z.literal('error'), message: z.string() }),
]);

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('item.started'), item }),
  z.object({ type: z.literal('item.completed'), item }),
  z.object({ type: z.literal('error'), message: z.string() }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
]);

type Item = z.infer<typeof item>;

/** Reads one line of `codex exec --json`, or of the client; unknown events and broken lines mean nothing. */
export function parseCodexLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'item.started':
      return { activities: readStarted(data.item) };
    case 'item.completed':
      return readCompleted(data.item);
    case 'error':
      // Codex repeats its final error as turn.failed; what it calls reconnecting is not final.
      if (data.message.startsWith('Reconnecting'))
        return { activities: [{ kind: 'warn', text: truncateMiddle(data.message) }] };
      return { activities: [], error: data.message };
    case 'turn.failed':
      return { activities: [], error: data.error.message };
  }
}

function readStarted(started: Item): AgentActivity[] {
  return started.type === 'command_execution'
    ? [{ kind: 'run', command: truncateMiddle(unwrapShell(started.command)) }]
    : [];
}

function readCompleted(done: Item): ParsedLine {
  switch (done.type) {
    case 'agent_message':
      return { activities: isAnswer(done.text) ? [] : sayText(done.text), answerText: done.text };
    case 'command_execution':
      return {
        activities: [
          {
            kind: 'ran',
            command: truncateMiddle(unwrapShell(done.command)),
            exitCode: done.exit_code ?? undefined,
            output: truncateMiddle(done.aggregated_output),
          },
        ],
      };
    case 'file_change':
      if (done.status !== 'completed')
        return { activities: [{ kind: 'warn', text: 'A change could not be applied.' }] };
      return {
        activities: done.changes.map(({ path, kind }) => ({ kind: 'edit', path: fromWorkspace(path), change: kind })),
      };
    case 'error':
      return { activities: [{ kind: 'warn', text: truncateMiddle(done.message) }] };
  }
}

function sayText(text: string): AgentActivity[] {
  return text.trim() === '' ? [] : [{ kind: 'say', text: truncateMiddle(text) }];
}

/** The command as the model wrote it: without the `/usr/bin/bash -c '…'` that Codex shows around it. */
function unwrapShell(command: string): string {
  const wrapped = /^(?:\S*\/)?(?:ba|z|da)?sh -l?c ([\s\S]+)$/.exec(command)?.[1];
  return wrapped === undefined ? command : (unquoteWord(wrapped) ?? command);
}

/** One shell word, unquoted; undefined when the text is more than one word or has quoting that is not plain. */
function unquoteWord(text: string): string | undefined {
  const part = /'([^']*)'|"((?:[^"\\$`]|\\["\\$`\n])*)"|\\([\s\S])|([^\s'"\\$`;&|<>()]+)/y;
  let word = '';
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    word += match[1] ?? match[2]?.replace(/\\(["\\$`])/g, '$1').replaceAll('\\\n', '') ?? match[3] ?? match[4] ?? '';
  }
  return word;
}

/** Codex exits with 0 also if its model ignored the answer schema, so the answer is checked here. */
export function readCodexOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode === 0) return readAnswer(end.answerText);
  if (end.error !== undefined && end.exitCode !== undefined)
    return explainError('Codex', unwrapBody(end.error), MEANINGS);
  return explainEnd('Codex', end);
}

/** What the messages of Codex mean to the person who has to act; the first match counts. */
const MEANINGS: readonly ErrorMeaning[] = [
  [/\b(401|403) (Unauthorized|Forbidden)/, 'The model provider refused the key'],
  [/usage limit/i, 'The usage limit of the model account is reached'],
  [/quota exceeded|insufficient_quota/i, 'The quota of the model account is used up'],
  [/context window|context_length/i, "The story did not fit into the model's context window", 'context-overflow'],
  [/\b404 Not Found/, 'The model provider does not know this model or address'],
  [/\b429\b/, 'The model provider limits the rate of requests, and waiting did not help'],
  [/high demand|\b5\d\d [A-Z]/, 'The model provider failed, and trying again did not help'],
  [/stream disconnected|idle timeout/i, "The model's answer broke off, and trying again did not help"],
  [/connection failed|error sending request/i, 'The model could not be reached'],
];

/** For a refused request, the message of Codex is the whole JSON body of the answer. */
function unwrapBody(message: string): string {
  const body = parseUntrustedJson(message) as { error?: { message?: unknown } } | null | undefined;
  const inner = body?.error?.message;
  return typeof inner === 'string' ? inner : message;
}
