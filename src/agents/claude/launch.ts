import { HaloError } from '../../core/failure/errors.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';
import { ANSWER_SCHEMA, PLAN_SCHEMA, TESTS_SCHEMA } from '../answer.ts';
import { launchScript } from '../launch-script.ts';
import { defined } from '../../lib/guards.ts';
import { shellQuote } from '../../lib/text.ts';

const PROGRAM = '/opt/halo/agents/claude/claude';
/** Those of runs of older versions, whose configuration names none. */
const DEFAULT_TOOLS = ['Bash', 'Edit', 'Read', 'Write'];

/** Tools of a team: all of them work within the process of Claude Code and files of its home. */
const TEAM_TOOLS = ['SendMessage', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate'];

/** Starts `claude -p` with an answer schema and none of the repository's settings. Throws INTERNAL without a model route. */
export function launchClaude(intent: AgentIntent): AgentLaunch {
  if (intent.modelUrl === undefined) throw new HaloError('INTERNAL', 'Claude Code has no model route.');
  return {
    script: writeScript(intent),
    env: writeEnvironment(intent, intent.modelUrl),
    files: {},
    ...defined({ sessionDir: intent.sessionDir }),
  };
}

const SCHEMAS = { story: ANSWER_SCHEMA, tests: TESTS_SCHEMA, plan: PLAN_SCHEMA };

/**
 * Loads only user settings, of which there are none: those of the repository could run hooks and replace the address of
 * the model. `--tools` and `--disallowedTools` take lists, so another flag must follow them.
 */
function writeScript({ model, home, sessionDir, answers = 'story', options = {} }: AgentIntent): string {
  const { effort, tools = DEFAULT_TOOLS, disallowedTools = [], subagents, teams, config } = options;
  const more = [...(subagents ? ['Agent'] : []), ...(teams ? TEAM_TOOLS : [])];
  const flags = [
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
  const start = sessionDir === undefined ? `${PROGRAM} -p` : `${PROGRAM} -p $continue`;
  const script = launchScript({ title: 'Claude Code', program: PROGRAM, command: `${start} ${flags.join(' ')}` });
  return sessionDir === undefined ? script : linkSessions(`${home}/.claude`, sessionDir) + script;
}

/** Claude Code keeps sessions in `projects`, in a folder for each working directory. Without one, `--continue` fails. */
function linkSessions(configDir: string, sessionDir: string): string {
  return `mkdir -p ${configDir} && ln -s ${sessionDir} ${configDir}/projects
continue=$(ls ${sessionDir}/*/*.jsonl >/dev/null 2>&1 && echo --continue)
`;
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
