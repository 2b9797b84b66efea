import { stringify } from 'smol-toml';
import { HaloError } from '../../core/failure/errors.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';
import { PLAN_SCHEMA, STRICT_ANSWER_SCHEMA, TESTS_SCHEMA } from '../answer.ts';
import { shellQuote } from '../../lib/text.ts';

const AGENT_DIR = '/opt/halo/agents/codex';

/** The layout of its package is kept, because Codex looks for its helpers next to the program. */
export const PROGRAMS = `${AGENT_DIR}/bin/codex ${AGENT_DIR}/vendor/*/bin/codex`;

/** Starts `codex exec` with a configuration and an answer schema of its own. Throws INTERNAL without a model route. */
export function launchCodex(intent: AgentIntent): AgentLaunch {
  if (intent.modelUrl === undefined) throw new HaloError('INTERNAL', 'Codex has no model route.');
  const codexHome = `${intent.home}/.codex`;
  const schemaFile = `${codexHome}/answer.schema.json`;
  return {
    script: writeScript(schemaFile),
    env: { CODEX_HOME: codexHome, HALO_MODEL_KEY: intent.gatewayToken },
    files: {
      [`${codexHome}/config.toml`]: writeConfig(intent, intent.modelUrl),
      [schemaFile]: `${JSON.stringify(SCHEMAS[intent.answers ?? 'story'], null, 2)}\n`,
    },
  };
}

const SCHEMAS = { story: STRICT_ANSWER_SCHEMA, tests: TESTS_SCHEMA, plan: PLAN_SCHEMA };

function writeScript(schemaFile: string): string {
  return `for codex in ${PROGRAMS}; do
  if [ -x "$codex" ]; then
    exec "$codex" exec --json --strict-config --skip-git-repo-check --output-schema ${shellQuote(schemaFile)} -
  fi
done
echo 'Codex is not in this sandbox (looked below ${AGENT_DIR}); build the image again: halo image build' >&2
exit 127
`;
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
