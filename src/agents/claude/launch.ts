import { HaloError } from '../../core/failure/errors.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';
import { ANSWER_SCHEMA } from '../answer.ts';
import { shellQuote } from '../../lib/shell-quote.ts';

const PROGRAM = '/opt/halo/agents/claude/claude';

/** Starts `claude -p` with an answer schema and none of the repository's settings. Throws INTERNAL without a model route. */
export function launchClaude(intent: AgentIntent): AgentLaunch {
  if (intent.modelUrl === undefined)
    throw new HaloError('INTERNAL', 'Claude Code was to be started without a model route.');
  return {
    script: writeScript(intent.model),
    env: writeEnvironment(intent, intent.modelUrl),
    files: {},
  };
}

/**
 * Only the user's settings count, and there are none: those of the repository could run hooks and replace the model's
 * address. `--tools` takes a list, so that another flag has to follow it.
 */
function writeScript(model: string): string {
  const flags = [
    '--output-format stream-json --verbose',
    '--dangerously-skip-permissions',
    '--setting-sources user --strict-mcp-config --no-session-persistence',
    '--tools Bash,Edit,Read,Write',
    `--model ${shellQuote(model)}`,
    `--json-schema ${shellQuote(JSON.stringify(ANSWER_SCHEMA))}`,
  ];
  return `if [ ! -x ${PROGRAM} ]; then
  echo 'Claude Code is not in this sandbox (looked for ${PROGRAM}); build the image anew with: halo image build' >&2
  exit 127
fi
exec ${PROGRAM} -p ${flags.join(' ')}
`;
}

/** The gateway puts the key in: what is called a key here is the token of the attempt. */
function writeEnvironment({ model, modelKey, home }: AgentIntent, modelUrl: string): Record<string, string> {
  return {
    CLAUDE_CONFIG_DIR: `${home}/.claude`,
    ANTHROPIC_BASE_URL: modelUrl.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: modelKey,
    // The gateway lets the configured model through and no other, so that all of its work is done with that one.
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_SUBAGENT_MODEL: model,
    // By default it tries again for over two minutes, a refused key too.
    CLAUDE_CODE_MAX_RETRIES: '3',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  };
}
