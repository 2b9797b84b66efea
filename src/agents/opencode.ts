import * as z from 'zod';
import type { Effort } from '../core/agent-options.ts';
import type { AgentActivity } from '../core/agent.ts';
import { programPath } from '../core/agent-program.ts';
import { HaloError } from '../core/failure/errors.ts';
import { defined } from '../lib/guards.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { shellQuote } from '../lib/text.ts';
import {
  denial,
  launchScript,
  truncateMiddle,
  type AgentAdapter,
  type AgentIntent,
  type AgentLaunch,
  type ParsedLine,
} from './adapter.ts';
import { isAnswer, withSignals } from './answer.ts';
import { readAgentOutcome } from './outcome.ts';

const TITLE = 'opencode';

/** opencode, from version 1.18. */
export const opencode: AgentAdapter = {
  id: 'opencode',
  title: TITLE,
  // opencode ignores the repository's settings and therefore its guidance: the prompt contains it.
  guidanceFiles: ['AGENTS.md'],
  launch: launchOpencode,
  createReader: (expected) => withSignals(parseOpencodeLine, expected),
  outcome: (end) => readAgentOutcome(TITLE, end),
};

/** Starts `opencode run` with settings of halo's own and none of the repository's. Throws INTERNAL without a model route. */
function launchOpencode(intent: AgentIntent): AgentLaunch {
  const { api, model, modelUrl, gatewayToken, options, version, sessionDir } = intent;
  if (api === undefined || modelUrl === undefined)
    throw new HaloError('INTERNAL', 'The agent opencode has no model route.');
  const name = `${api}/${model}`;
  const program = programPath('opencode', version);
  // It keeps all sessions there, and continues the last one that is not of a subagent.
  const kept = sessionDir === undefined ? undefined : `${sessionDir}/opencode.db`;
  const find = kept === undefined ? '' : `session=; if [ -f ${kept} ]; then session=--continue; fi\n`;
  const flags = `--format json --auto --title story${kept === undefined ? '' : ' $session'} -m ${shellQuote(name)}`;
  return {
    script: find + launchScript({ title: TITLE, program, version, command: `${program} run ${flags}` }),
    ...defined({ sessionDir }),
    env: {
      ...QUIET,
      ...defined({ OPENCODE_DB: kept }),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(
        settings(name, { api, model, modelUrl, gatewayToken, effort: options?.effort }),
      ),
    },
    files: {},
  };
}

/** Ignores the repository's settings, which could start programs and redirect traffic, and makes no other requests. */
const QUIET = {
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
  OPENCODE_DISABLE_CLAUDE_CODE: '1',
  OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
};

interface Route {
  api: string;
  model: string;
  modelUrl: string;
  gatewayToken: string;
  effort: Effort | undefined;
}

/** The gateway adds the key and accepts only the configured model, so it is also the model for small tasks. */
function settings(name: string, { api, model, modelUrl, gatewayToken, effort }: Route): object {
  const ofModel =
    effort === undefined
      ? {}
      : { reasoning: true, options: api === 'openai' ? { reasoningEffort: effort } : { effort } };
  return {
    autoupdate: false,
    share: 'disabled',
    model: name,
    small_model: name,
    enabled_providers: [api],
    permission: { webfetch: 'deny', websearch: 'deny' },
    provider: { [api]: { options: { baseURL: modelUrl, apiKey: gatewayToken }, models: { [model]: ofModel } } },
  };
}

const DENIED = /^The user (?:has specified a rule which prevents|rejected permission)/;

const refused = z
  .object({ tool: z.string(), state: z.object({ status: z.literal('error'), error: z.string().regex(DENIED) }) })
  .transform(({ tool }) => ({ refused: tool }));

const tool = z.union([
  refused,
  z.object({
    tool: z.literal('bash'),
    state: z.object({
      input: z.object({ command: z.string() }),
      output: z.string().default(''),
      metadata: z.object({ exit: z.number().nullish() }).nullish(),
    }),
  }),
  z.object({
    tool: z.enum(['write', 'edit']),
    state: z.object({ status: z.literal('completed'), input: z.object({ filePath: z.string() }) }),
  }),
]);

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), part: z.object({ text: z.string() }) }),
  z.object({ type: z.literal('tool_use'), part: tool }),
  z.object({
    type: z.literal('error'),
    error: z.object({ name: z.string().default('Error'), data: z.object({ message: z.string() }).nullish() }),
  }),
]);

/** Reads one line of `opencode run --format json`; unknown events and broken lines mean nothing. */
function parseOpencodeLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'text': {
      const { text } = data.part;
      const silent = text.trim() === '' || isAnswer(text);
      return { activities: silent ? [] : [{ kind: 'say', text: truncateMiddle(text) }], answerText: text };
    }
    case 'tool_use':
      return readTool(data.part);
    case 'error':
      return { activities: [], error: data.error.data?.message ?? data.error.name };
  }
}

function readTool(part: z.infer<typeof tool>): ParsedLine {
  if ('refused' in part) return denial(part.refused);
  return { activities: readUse(part) };
}

function readUse(part: Exclude<z.infer<typeof tool>, { refused: string }>): AgentActivity[] {
  if (part.tool !== 'bash') {
    const path = part.state.input.filePath.replace(/^\/workspace\//, '');
    return [{ kind: 'edit', path, change: part.tool === 'write' ? 'add' : 'update' }];
  }
  const command = truncateMiddle(part.state.input.command);
  const exitCode = part.state.metadata?.exit ?? undefined;
  return [
    { kind: 'run', command },
    { kind: 'ran', command, exitCode, output: truncateMiddle(part.state.output) },
  ];
}
