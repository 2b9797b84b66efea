import { HaloError } from '../../core/failure/errors.ts';
import { shellQuote } from '../../lib/text.ts';
import type { Effort } from '../../core/agent-options.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';
import { launchScript } from '../launch-script.ts';

const PROGRAM = '/opt/halo/agents/opencode/opencode';

/** Starts `opencode run` with settings of halo's own and none of the repository's. Throws INTERNAL without a model route. */
export function launchOpencode(intent: AgentIntent): AgentLaunch {
  const { api, model, modelUrl, gatewayToken, options } = intent;
  if (api === undefined || modelUrl === undefined)
    throw new HaloError('INTERNAL', 'The agent opencode has no model route.');
  const name = `${api}/${model}`;
  return {
    script: launchScript({
      title: 'opencode',
      program: PROGRAM,
      command: `${PROGRAM} run --format json --auto --title story -m ${shellQuote(name)}`,
    }),
    env: {
      ...QUIET,
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
