import * as z from 'zod';
import type { AgentActivity, AgentOutcome } from '../core/agent.ts';
import { programPath } from '../core/agent-program.ts';
import { HaloError } from '../core/failure/errors.ts';
import { defined } from '../lib/guards.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/text.ts';
import {
  denial,
  findSession,
  fromWorkspace,
  launchScript,
  truncateMiddle,
  type AgentAdapter,
  type AgentEnd,
  type AgentIntent,
  type AgentLaunch,
  type LiveSession,
  type ParsedLine,
} from './adapter.ts';
import { ANSWER_SCHEMA, isAnswer, PLAN_SCHEMA, REVIEW_SCHEMA, TESTS_SCHEMA } from './answer.ts';
import { readAgentOutcome, type ErrorMeaning } from './outcome.ts';

/** Claude Code, from version 2.1.330. */
export const claude: AgentAdapter = {
  id: 'claude',
  title: 'Claude Code',
  guidanceFiles: ['CLAUDE.md', 'AGENTS.md'],
  hasAnswerSchema: true,
  launch: launchClaude,
  openSession: openClaudeSession,
  createReader: () => parseClaudeLine,
  outcome: readClaudeOutcome,
};

/** Tools of a team: all of them work within the process of Claude Code and files of its home. */
const TEAM_TOOLS = ['SendMessage', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate'];

/** Starts `claude -p` with an answer schema and none of the repository's settings. Throws INTERNAL without a model route. */
function launchClaude(intent: AgentIntent): AgentLaunch {
  if (intent.modelUrl === undefined) throw new HaloError('INTERNAL', 'Claude Code has no model route.');
  return {
    script: writeScript(intent),
    env: writeEnvironment(intent, intent.modelUrl),
    files: {},
    ...defined({ sessionDir: intent.sessionDir }),
  };
}

const SCHEMAS = { story: ANSWER_SCHEMA, tests: TESTS_SCHEMA, plan: PLAN_SCHEMA, review: REVIEW_SCHEMA };

/**
 * Loads only user settings, of which there are none: those of the repository could run hooks and replace the address of
 * the model. `--tools` and `--disallowedTools` take lists, so another flag must follow them.
 */
function writeScript({ model, home, version, sessionDir, answers = 'story', options, live }: AgentIntent): string {
  const { effort, tools = [], disallowedTools = [], subagents, teams, config } = options;
  const more = [...(subagents ? ['Agent'] : []), ...(teams ? TEAM_TOOLS : [])];
  const flags = [
    ...(live ? ['--input-format stream-json --replay-user-messages'] : []),
    '--output-format stream-json --verbose',
    '--dangerously-skip-permissions',
    '--setting-sources user --strict-mcp-config',
    ...(sessionDir === undefined ? ['--no-session-persistence'] : []),
    `--tools ${[...tools, ...more].join(',')}`,
    ...(disallowedTools.length === 0 ? [] : [`--disallowedTools ${disallowedTools.map(shellQuote).join(' ')}`]),
    ...(effort === undefined ? [] : [`--effort ${effort}`]),
    ...(config === undefined ? [] : [`--settings ${shellQuote(JSON.stringify(config))}`]),
    `--model ${shellQuote(model)}`,
    `--json-schema ${shellQuote(JSON.stringify(SCHEMAS[answers]))}`,
  ];
  const program = programPath('claude', version);
  const start = sessionDir === undefined ? `${program} -p` : `${program} -p \${session:+--resume $session}`;
  const script = launchScript({ title: 'Claude Code', program, version, command: `${start} ${flags.join(' ')}` });
  return sessionDir === undefined ? script : linkSessions(`${home}/.claude`, sessionDir) + script;
}

/**
 * Claude Code keeps sessions in `projects`, in a folder for each working directory. The latest is continued by its id: with
 * `--continue`, one that cannot be read is replaced by a new one silently.
 */
function linkSessions(configDir: string, sessionDir: string): string {
  return `mkdir -p ${configDir} && ln -s ${sessionDir} ${configDir}/projects
${findSession(`${sessionDir}/*/*.jsonl`, '-dt')}`;
}

/** The API key is the token of the attempt; the gateway replaces it with the real key. */
function writeEnvironment(
  { model, gatewayToken, home, options }: AgentIntent,
  modelUrl: string,
): Record<string, string> {
  return {
    CLAUDE_CONFIG_DIR: `${home}/.claude`,
    ANTHROPIC_BASE_URL: modelUrl.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: gatewayToken,
    // The gateway accepts only the configured model.
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_SUBAGENT_MODEL: model,
    ...(options?.teams ? { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' } : {}),
    // By default, Claude Code retries for over two minutes, even after a refused key.
    CLAUDE_CODE_MAX_RETRIES: '3',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  };
}

/** `command_lifecycle` reports the messages that have an id; a `result` ends a turn. */
const sign = z.discriminatedUnion('type', [
  z.object({ type: z.literal('command_lifecycle'), state: z.string(), command_uuid: z.string() }),
  z.object({ type: z.literal('result') }),
]);

/**
 * Messages become part of the turn that runs, after its current tool call, or a turn of their own if it ends before. So the
 * number of turns is not that of messages.
 */
function openClaudeSession(): LiveSession {
  return {
    listens: true,
    marks: ['"command_lifecycle"', '"result"'],
    begin: (prompt) => userLine({ content: prompt }),
    tell: ({ id, text }) => userLine({ content: text, uuid: id }),
    read(line) {
      const { data } = sign.safeParse(parseUntrustedJson(line));
      if (data?.type === 'result') return { idle: true };
      if (data?.state === 'queued') return { received: [data.command_uuid] };
      return data?.state === 'started' ? { taken: [data.command_uuid] } : {};
    },
  };
}

function userLine({ content, uuid }: { content: string; uuid?: string }): string {
  const message = { role: 'user', content };
  const line = { type: 'user', message, parent_tool_use_id: null, session_id: '', ...defined({ uuid }) };
  return `${JSON.stringify(line)}\n`;
}

const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    name: z.literal('Bash'),
    input: z.object({ command: z.string() }),
  }),
  z.object({ type: z.string() }),
]);

/** What a tool gave back, by the shape that each kind of tool has. */
const outcome = z.union([
  z.object({ stdout: z.string(), stderr: z.string().default('') }),
  z.object({ type: z.enum(['create', 'update']), filePath: z.string() }),
  z.object({ filePath: z.string(), oldString: z.string() }),
  z.string(),
]);

const event = z.discriminatedUnion('type', [
  z.discriminatedUnion('subtype', [
    z.object({
      type: z.literal('system'),
      subtype: z.literal('api_retry'),
      attempt: z.number(),
      max_retries: z.number(),
      error_status: z.number().nullish(),
      error: z.string().nullish(),
    }),
    z.object({
      type: z.literal('system'),
      subtype: z.literal('permission_denied'),
      tool_name: z.string(),
      message: z.string().default(''),
      decision_reason: z.string().nullish(),
    }),
  ]),
  z.object({
    type: z.literal('assistant'),
    message: z.object({ model: z.string().nullish(), content: z.array(block) }),
  }),
  z.object({ type: z.literal('user'), tool_use_result: outcome }),
  z.object({
    type: z.literal('result'),
    is_error: z.boolean(),
    result: z.string().optional(),
    structured_output: z.unknown().optional(),
    errors: z.array(z.string()).optional(),
    terminal_reason: z.string().nullish(),
  }),
]);

/** The result of a command comes without the command, which is on an earlier line. */
const ABOVE = 'the command above';

type Event = z.infer<typeof event>;

/** Reads one line of `claude -p --output-format stream-json`; unknown events and broken lines mean nothing. */
export function parseClaudeLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'system':
      return data.subtype === 'api_retry'
        ? { activities: [{ kind: 'warn', text: describeRetry(data) }] }
        : denial(`${data.tool_name}: ${data.decision_reason ?? data.message}`);
    case 'assistant':
      // Its own words about an error come again in the result.
      return { activities: data.message.model === '<synthetic>' ? [] : data.message.content.flatMap(readBlock) };
    case 'user':
      return { activities: readToolResult(data.tool_use_result) };
    case 'result':
      return readResult(data);
  }
}

function describeRetry({
  attempt,
  max_retries,
  error_status,
  error,
}: Extract<Event, { subtype: 'api_retry' }>): string {
  const why = error_status ?? error ?? 'no connection';
  return truncateMiddle(`Reconnecting... ${attempt}/${max_retries} (${why})`);
}

function readBlock(content: z.infer<typeof block>): AgentActivity[] {
  if ('text' in content)
    return content.text.trim() === '' || isAnswer(content.text)
      ? []
      : [{ kind: 'say', text: truncateMiddle(content.text) }];
  if ('input' in content) return [{ kind: 'run', command: truncateMiddle(content.input.command) }];
  return [];
}

function readToolResult(result: z.infer<typeof outcome>): AgentActivity[] {
  if (typeof result === 'string') return readFailure(result);
  if ('stdout' in result) {
    const output = [result.stdout, result.stderr].filter((text) => text !== '').join('\n');
    return [{ kind: 'ran', command: ABOVE, exitCode: 0, output: truncateMiddle(output) }];
  }
  const created = 'type' in result && result.type === 'create';
  return [{ kind: 'edit', path: fromWorkspace(result.filePath), change: created ? 'add' : 'update' }];
}

/** A command that failed gives its exit code and output as one text; other failures are not shown. */
function readFailure(text: string): AgentActivity[] {
  const [, exitCode, output = ''] = /^Error: Exit code (\d+)(?:\n([\s\S]*))?$/.exec(text) ?? [];
  return exitCode === undefined
    ? []
    : [{ kind: 'ran', command: ABOVE, exitCode: Number(exitCode), output: truncateMiddle(output) }];
}

function readResult(result: Event & { type: 'result' }): ParsedLine {
  if (!result.is_error) {
    const { structured_output: answer } = result;
    const answerText = answer === undefined || answer === null ? result.result : JSON.stringify(answer);
    return { activities: [], ...defined({ answerText }) };
  }
  const words = [result.result ?? result.errors?.join('; ') ?? 'it gave no reason'];
  if (result.terminal_reason?.startsWith('aborted') === true) words.unshift(result.terminal_reason);
  return { activities: [], error: words.join(': ') };
}

/** Claude Code exits with 0 also if it was interrupted or its model gave prose, so error and answer are both checked. */
function readClaudeOutcome(end: AgentEnd): AgentOutcome {
  return readAgentOutcome('Claude Code', end, MEANINGS);
}

/** What the messages of Claude Code mean to the person who has to act; the first match counts. */
const MEANINGS: readonly ErrorMeaning[] = [
  [/not logged in|failed to authenticate|\b(401|403)\b/i, 'The model provider refused the key'],
  [/credit balance|billing/i, 'The model provider requires payment'],
  [/usage limit|quota/i, 'The usage limit of the model account is reached'],
  [/prompt is too long|context window/i, "The story did not fit into the model's context window", 'context-overflow'],
  [/\b404\b|model_not_found|issue with the selected model/i, 'The model provider does not know this model or address'],
  [/\b429\b|rate.limit/i, 'The model provider limits the rate of requests, and waiting did not help'],
  [/API Error: 5\d\d|overloaded/i, 'The model provider failed, and trying again did not help'],
  [/connection (dropped|closed|reset)|ECONNRESET/i, "The model's answer broke off, and trying again did not help"],
  [/connection (refused|error)|ECONNREFUSED|unable to connect/i, 'The model could not be reached'],
  [/aborted_/, 'Claude Code was interrupted'],
];
