import * as z from 'zod';
import type { Effort } from '../core/agent-options.ts';
import type { AgentActivity } from '../core/agent.ts';
import { programCommand, programDir, programPath } from '../core/agent-program.ts';
import { HaloError } from '../core/failure/errors.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/text.ts';
import {
  denial,
  launchScript,
  truncateMiddle,
  type AgentAdapter,
  type AgentIntent,
  type AgentLaunch,
  type LineReader,
  type ParsedLine,
} from './adapter.ts';
import { isAnswer, withSignals } from './answer.ts';
import { readAgentOutcome } from './outcome.ts';

const TITLE = 'Gemini CLI';

/** docker/sandbox/gemini-settings.json, in halo's image. */
const SETTINGS = `${programDir('gemini')}/settings.json`;

/** Gemini CLI, from version 0.61. */
export const gemini: AgentAdapter = {
  id: 'gemini',
  title: TITLE,
  // Its settings (docker/sandbox/gemini-settings.json) name them, so it reads them itself.
  guidanceFiles: [],
  launch: launchGemini,
  createReader: (expected) => withSignals(createGeminiReader(), expected),
  // After a refusal by the provider, the exit code is the HTTP status modulo 256: the error message is more reliable.
  outcome: (end) => readAgentOutcome(TITLE, end),
};

/**
 * Starts `gemini` with the prompt on stdin. A settings file in the image overrides those of the repository, so its hooks,
 * servers and variables are not used. Throws INTERNAL without a model route.
 */
function launchGemini({ model, modelUrl, gatewayToken, home, options, version }: AgentIntent): AgentLaunch {
  if (modelUrl === undefined) throw new HaloError('INTERNAL', `${TITLE} has no model route.`);
  const { effort } = options ?? {};
  return {
    script: launchScript({
      title: TITLE,
      program: programPath('gemini', version),
      version,
      command: `${programCommand('gemini', version)} --yolo --output-format stream-json --model ${shellQuote(model)}`,
      test: '-f',
    }),
    env: {
      HOME: home,
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: SETTINGS,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GOOGLE_GEMINI_BASE_URL: modelUrl.replace(/\/v1$/, ''),
      // The token of the attempt; the gateway replaces it with the real key.
      GEMINI_API_KEY: gatewayToken,
    },
    files: effort === undefined ? {} : { [`${home}/.gemini/settings.json`]: thinkingSettings(model, effort) },
  };
}

/** Thinking tokens of Gemini 2.5, as Google's own interface for OpenAI clients translates efforts. */
const BUDGETS: Partial<Record<Effort, number>> = { low: 1_024, medium: 8_192, high: 24_576 };

/** Later models have levels. */
function thinkingSettings(model: string, effort: Effort): string {
  const thinkingConfig = model.startsWith('gemini-2')
    ? { includeThoughts: true, thinkingBudget: BUDGETS[effort] }
    : { includeThoughts: true, thinkingLevel: effort.toUpperCase() };
  const modelConfig = { generateContentConfig: { thinkingConfig } };
  return JSON.stringify({ modelConfigs: { customOverrides: [{ match: { model }, modelConfig }] } });
}

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message'), role: z.string(), content: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    tool_name: z.string(),
    tool_id: z.string(),
    parameters: z.record(z.string(), z.unknown()).default({}),
  }),
  z.object({
    type: z.literal('tool_result'),
    tool_id: z.string(),
    status: z.string(),
    output: z.string().default(''),
    error: z.object({ type: z.string().nullish(), message: z.string().default('') }).nullish(),
  }),
  z.object({
    type: z.literal('result'),
    status: z.string(),
    error: z.object({ message: z.string() }).nullish(),
  }),
  z.object({ type: z.literal('error'), severity: z.string().optional(), message: z.string() }),
]);

/** A longer message is not an answer. */
const MAX_MESSAGE_LENGTH = 1_000_000;

/** Reads the lines of `gemini --output-format stream-json`: a message comes in pieces, until something else does. */
function createGeminiReader(): LineReader {
  let message = '';
  const commands = new Map<string, string>();

  const endMessage = (): ParsedLine => {
    const text = message;
    message = '';
    if (text.trim() === '') return { activities: [] };
    return { activities: isAnswer(text) ? [] : [{ kind: 'say', text: truncateMiddle(text) }], answerText: text };
  };

  return (line) => {
    const parsed = event.safeParse(parseUntrustedJson(line));
    if (!parsed.success) return { activities: [] };
    const { data } = parsed;
    switch (data.type) {
      case 'message':
        if (data.role === 'assistant' && message.length < MAX_MESSAGE_LENGTH) message += data.content;
        return { activities: [] };
      case 'tool_use': {
        const ended = endMessage();
        return { ...ended, activities: [...ended.activities, ...readTool(data, commands)] };
      }
      case 'tool_result':
        return readResult(data, commands);
      case 'error':
        return { activities: [{ kind: 'warn', text: truncateMiddle(data.message) }] };
      case 'result': {
        const ended = endMessage();
        if (data.status === 'success') return ended;
        return { ...ended, error: data.error?.message ?? 'it gave no reason' };
      }
    }
  };
}

type Event = z.infer<typeof event>;

function readTool(tool: Event & { type: 'tool_use' }, commands: Map<string, string>): AgentActivity[] {
  const { command, file_path: path } = tool.parameters;
  if (tool.tool_name === 'run_shell_command' && typeof command === 'string') {
    commands.set(tool.tool_id, truncateMiddle(command));
    return [{ kind: 'run', command: truncateMiddle(command) }];
  }
  if (typeof path !== 'string' || !['write_file', 'replace'].includes(tool.tool_name)) return [];
  const change = tool.tool_name === 'write_file' ? 'add' : 'update';
  return [{ kind: 'edit', path: path.replace(/^\/workspace\//, ''), change }];
}

const DENIALS = ['policy_violation', 'permission_denied'];

function readResult(result: Event & { type: 'tool_result' }, commands: Map<string, string>): ParsedLine {
  const { error } = result;
  if (error?.type != null && DENIALS.includes(error.type)) return denial(error.message);
  return { activities: readOutput(result, commands) };
}

/** The result of a command contains its exit code only if the command failed, as text. */
function readOutput(result: Event & { type: 'tool_result' }, commands: Map<string, string>): AgentActivity[] {
  const command = commands.get(result.tool_id);
  if (command === undefined) return [];
  commands.delete(result.tool_id);
  const code = /Exit Code: (\d+)/.exec(result.output)?.[1];
  const exitCode = code !== undefined ? Number(code) : result.status === 'success' ? 0 : undefined;
  return [{ kind: 'ran', command, exitCode, output: truncateMiddle(result.output) }];
}
