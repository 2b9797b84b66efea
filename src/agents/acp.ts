import * as z from 'zod';
import type { AgentActivity } from '../core/agent.ts';
import { HaloError } from '../core/failure/errors.ts';
import { defined } from '../lib/guards.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/text.ts';
import {
  denial,
  fromWorkspace,
  launchScript,
  truncateMiddle,
  type AgentAdapter,
  type AgentIntent,
  type AgentLaunch,
  type LineReader,
  type LiveSession,
  type ParsedLine,
} from './adapter.ts';
import { isAnswer, withSignals } from './answer.ts';
import { modelVariables } from './model-variables.ts';
import { readAgentOutcome, type ErrorMeaning } from './outcome.ts';

const TITLE = 'The ACP agent';
const NODE = '/opt/halo/agents/node/bin/node';
/** docker/sandbox/acp-client.mjs */
const CLIENT = '/opt/halo/agents/acp/client.mjs';

/**
 * Any agent of the Agent Client Protocol (https://agentclientprotocol.com), by a client in the sandbox that prints the
 * updates of the session as lines.
 */
export const acp: AgentAdapter = {
  id: 'acp',
  title: TITLE,
  // Some agents read a file of their own; to read it twice does no harm.
  guidanceFiles: ['AGENTS.md', 'CLAUDE.md'],
  launch: launchAcp,
  openSession: ({ live }) => (live ? openAcpSession() : undefined),
  createReader: (expected) => withSignals(createAcpReader(), expected),
  outcome: (end) => readAgentOutcome(TITLE, end, MEANINGS),
};

/** Throws CONFIG_INVALID without a command, which the configuration has checked. */
function launchAcp(intent: AgentIntent): AgentLaunch {
  const { commandLine, home, model, sessionDir } = intent;
  if (commandLine === undefined)
    throw new HaloError('CONFIG_INVALID', 'The agent has no command line.', {
      hint: 'Set `acp` in its table [agents.<name>].',
    });
  const keeps = sessionDir === undefined ? '' : `--session ${sessionDir} `;
  return {
    script:
      linkSessions(home, sessionDir) +
      launchScript({
        title: 'The client of the Agent Client Protocol',
        program: CLIENT,
        command: `${NODE} ${CLIENT} ${intent.live ? '--live ' : ''}${keeps}${shellQuote(commandLine)}`,
        test: '-f',
      }),
    env: {
      HOME: home,
      ...(intent.modelUrl === undefined ? {} : { ...modelVariables(intent, intent.modelUrl), ...modelNames(model) }),
      // Adapters of other vendors' programs; without it, Codex starts a sandbox of its own, which cannot work in this one.
      INITIAL_AGENT_MODE: 'agent-full-access',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
    files: {},
    ...defined({ sessionDir }),
  };
}

/** Below the home: where agents keep what they need to continue a session; all else of them is not kept. */
const SESSION_FOLDERS = ['.claude/projects', '.codex/sessions', '.gemini/tmp'];
const SESSION_FILES = ['.local/share/opencode/opencode.db', '.local/share/kilo/kilo.db'];

/** Puts them into the folder of the session. */
function linkSessions(home: string, sessionDir: string | undefined): string {
  if (sessionDir === undefined) return '';
  const link = (path: string) => {
    const kept = `${sessionDir}/${path.split('/').slice(-2).join('-').replace(/^\./, '')}`;
    const folder = SESSION_FOLDERS.includes(path) ? ` ${kept}` : '';
    return `mkdir -p ${home}/${path.slice(0, path.lastIndexOf('/'))}${folder} && ln -s ${kept} ${home}/${path}\n`;
  };
  return [...SESSION_FOLDERS, ...SESSION_FILES].map(link).join('');
}

/** The variables in which agents look for the name of the model. */
function modelNames(model: string): Record<string, string> {
  return { OPENAI_MODEL: model, ANTHROPIC_MODEL: model, GEMINI_MODEL: model };
}

const sign = z.discriminatedUnion('type', [
  z.object({ type: z.literal('listens'), when: z.enum(['turn', 'after']) }),
  z.object({ type: z.enum(['queued', 'received']), id: z.string() }),
  z.object({ type: z.literal('idle') }),
]);

/** The agent decides when it reads messages; the client knows that once it has started it. */
function openAcpSession(): LiveSession {
  const line = (input: { id?: string; text: string }) => `${JSON.stringify(input)}\n`;
  return {
    listens: false,
    marks: ['"listens"', '"queued"', '"received"', '"idle"'],
    begin: (prompt) => line({ text: prompt }),
    tell: ({ id, text: said }) => line({ id, text: said }),
    read(printed) {
      const { data } = sign.safeParse(parseUntrustedJson(printed));
      switch (data?.type) {
        case 'listens':
          return { listens: data.when };
        case 'queued':
          return { received: [data.id] };
        case 'received':
          return { taken: [data.id] };
        case 'idle':
          return { idle: true };
        case undefined:
          return {};
      }
    },
  };
}

const text = z.object({ type: z.literal('text'), text: z.string() });
const content = z.union([
  z.object({ type: z.literal('content'), content: z.union([text, z.unknown().transform(() => undefined)]) }),
  z.object({ type: z.literal('diff'), path: z.string(), oldText: z.string().nullish() }),
  z.unknown().transform(() => undefined),
]);

/** Agents differ in what they fill in, and when; the last value of each member counts. */
const toolCall = z.object({
  toolCallId: z.string(),
  title: z.string().nullish().catch(undefined),
  kind: z.string().nullish().catch(undefined),
  status: z.string().nullish().catch(undefined),
  content: z.array(content).nullish().catch(undefined),
  locations: z
    .array(z.object({ path: z.string() }))
    .nullish()
    .catch(undefined),
  rawInput: z.looseObject({}).nullish().catch(undefined),
  rawOutput: z.unknown().optional(),
  _meta: z
    .looseObject({
      terminal_output_delta: z.object({ data: z.string() }).optional().catch(undefined),
      terminal_exit: z.object({ exit_code: z.number().nullish() }).optional().catch(undefined),
    })
    .nullish()
    .catch(undefined),
});
type ToolCall = z.infer<typeof toolCall>;

const event = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('update'),
    update: z.discriminatedUnion('sessionUpdate', [
      z.object({ sessionUpdate: z.literal('agent_message_chunk'), content: text }),
      toolCall.extend({ sessionUpdate: z.literal('tool_call') }),
      toolCall.extend({ sessionUpdate: z.literal('tool_call_update') }),
    ]),
  }),
  z.object({ type: z.literal('permission'), title: z.string(), kind: z.string() }),
  z.object({ type: z.literal('idle') }),
  z.object({ type: z.literal('received') }),
  z.object({ type: z.literal('forgets') }),
  z.object({ type: z.literal('ended'), stopReason: z.string() }),
  z.object({ type: z.literal('error'), message: z.string() }),
]);

const FORGETS = 'This agent cannot continue a session, so each attempt has a new one.';

/** A longer message is not an answer. */
const MAX_MESSAGE_LENGTH = 1_000_000;
/** Of tool calls that have not ended. */
const MAX_CALLS = 200;

/** What is known of a tool call that has not ended. */
interface OpenCall {
  kind: string;
  /** What it runs, once it has been reported. */
  reported?: string;
  title: string;
  command?: string;
  paths: Set<string>;
  added: Set<string>;
  output: string;
}

/** Reads the lines of the client: a message comes in pieces, until something else does. */
function createAcpReader(): LineReader {
  let message = '';
  const calls = new Map<string, OpenCall>();

  const endMessage = (): ParsedLine => {
    const said = message;
    message = '';
    if (said.trim() === '') return { activities: [] };
    return { activities: isAnswer(said) ? [] : [{ kind: 'say', text: truncateMiddle(said) }], answerText: said };
  };

  return (line) => {
    const parsed = event.safeParse(parseUntrustedJson(line));
    if (!parsed.success) return { activities: [] };
    const { data } = parsed;
    if (data.type === 'permission') return data.kind === 'none' ? denial(data.title) : { activities: [] };
    if (data.type === 'error') return { ...endMessage(), error: data.message };
    // What follows a message of a person is another answer.
    if (data.type === 'idle' || data.type === 'received') return endMessage();
    if (data.type === 'forgets') return { activities: [{ kind: 'warn', text: FORGETS }] };
    if (data.type === 'ended') {
      const ended = endMessage();
      const reason = data.stopReason;
      return reason === 'end_turn' ? ended : { ...ended, error: `the turn ended with ${JSON.stringify(reason)}` };
    }
    const { update } = data;
    if (update.sessionUpdate === 'agent_message_chunk') {
      if (message.length < MAX_MESSAGE_LENGTH) message += update.content.text;
      return { activities: [] };
    }
    const ended = endMessage();
    return { ...ended, activities: [...ended.activities, ...readCall(update, calls)] };
  };
}

function readCall(update: ToolCall, calls: Map<string, OpenCall>): AgentActivity[] {
  const { toolCallId: id, status } = update;
  const call = calls.get(id) ?? { kind: '', title: '', paths: new Set(), added: new Set(), output: '' };
  if (calls.size < MAX_CALLS) calls.set(id, call);
  complete(call, update);
  const activities: AgentActivity[] = [];
  const ends = status === 'completed' || status === 'failed';
  if (call.kind === 'execute') {
    const command = call.command ?? (ends ? call.title : undefined);
    if (command !== undefined && call.reported === undefined) {
      call.reported = command;
      activities.push({ kind: 'run', command });
    }
    if (ends && call.reported !== undefined)
      activities.push({
        kind: 'ran',
        command: call.reported,
        exitCode: exitCodeOf(update) ?? statedCode(call.output) ?? (status === 'completed' ? 0 : undefined),
        output: truncateMiddle(call.output),
      });
  } else if (status === 'completed' && CHANGES.includes(call.kind)) {
    for (const path of call.paths) {
      const change = call.kind === 'delete' ? 'delete' : call.added.has(path) ? 'add' : 'update';
      activities.push({ kind: 'edit', path: fromWorkspace(path), change });
    }
  }
  if (ends) calls.delete(id);
  return activities;
}

const CHANGES = ['edit', 'delete', 'move'];
const MAX_OUTPUT_LENGTH = 100_000;
/** Of one call. */
const MAX_PATHS = 100;

function addPath(paths: Set<string>, path: string): void {
  if (paths.size < MAX_PATHS) paths.add(path);
}

function complete(call: OpenCall, update: ToolCall): void {
  const { title, kind, rawInput, rawOutput, locations, content: parts, _meta: meta } = update;
  call.title = title ?? call.title;
  call.kind = kind ?? call.kind;
  const command = rawInput?.command;
  if (typeof command === 'string' && command !== '') call.command = command;
  else if (Array.isArray(command) && command.length > 0) call.command = command.map(String).join(' ');
  for (const { path } of locations ?? []) addPath(call.paths, path);
  const texts: string[] = [];
  for (const part of parts ?? []) {
    if (part === undefined) continue;
    if (part.type === 'content') texts.push(part.content?.text ?? '');
    else {
      addPath(call.paths, part.path);
      if (part.oldText === null || part.oldText === undefined) addPath(call.added, part.path);
    }
  }
  if (texts.length > 0) call.output = texts.join('\n');
  const delta = meta?.terminal_output_delta?.data;
  if (delta !== undefined && call.output.length < MAX_OUTPUT_LENGTH) call.output += delta;
  const raw = typeof rawOutput === 'string' ? rawOutput : memberOf(rawOutput, 'output');
  if (typeof raw === 'string' && raw !== '') call.output = raw;
}

function exitCodeOf({ rawOutput, _meta: meta }: ToolCall): number | undefined {
  const places = [
    meta?.terminal_exit?.exit_code,
    memberOf(memberOf(rawOutput, 'metadata'), 'exit'),
    memberOf(rawOutput, 'exit_code'),
    memberOf(rawOutput, 'exitCode'),
  ];
  return places.find((code): code is number => typeof code === 'number');
}

/** Some agents say it on a line of the output only. */
const STATED =
  /^(?:Command exited with code:|Process exited with code|Exit code:?|<shellId: \d+ completed with exit code) (\d{1,3})>?$/im;

function statedCode(output: string): number | undefined {
  const code = STATED.exec(output)?.[1];
  return code === undefined ? undefined : Number(code);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** What messages of agents mean to the person who has to act; the first match counts. */
const MEANINGS: readonly ErrorMeaning[] = [
  [
    /authentication required|auth_required/i,
    'The agent asks for a login; give it the token of the model route in its variables',
  ],
  [/"refusal"/, 'The model refused to continue'],
  [/"max_tokens"/, 'The answer of the model was too long'],
  [/context window|context length|context_length|prompt is too long/i, "The story did not fit into the model's context window", 'context-overflow'], // prettier-ignore
];
