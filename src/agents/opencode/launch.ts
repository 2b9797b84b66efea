import { HaloError } from '../../core/failure/errors.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';

const PROGRAM = '/opt/halo/agents/opencode/opencode';

/** Starts `opencode run` with settings of halo's own and none of the repository's. Throws INTERNAL without a model route. */
export function launchOpencode(intent: AgentIntent): AgentLaunch {
  const { api, model, modelUrl, modelKey } = intent;
  if (api === undefined || modelUrl === undefined)
    throw new HaloError('INTERNAL', 'opencode was to be started without a model route.');
  const name = `${api}/${model}`;
  return {
    script: `if [ ! -x ${PROGRAM} ]; then
  echo 'opencode is not in this sandbox (looked for ${PROGRAM}); build the image anew with: halo image build' >&2
  exit 127
fi
exec ${PROGRAM} run --format json --auto --title story -m ${shellQuote(name)}
`,
    env: { ...QUIET, OPENCODE_CONFIG_CONTENT: JSON.stringify(settings(name, { api, model, modelUrl, modelKey })) },
    files: {},
  };
}

/** Settings of the repository could start programs and send the traffic elsewhere. Nothing else is asked for outside. */
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
  modelKey: string;
}

/** The gateway puts the key in and lets the configured model through and no other, so that small work is done with it, too. */
function settings(name: string, { api, model, modelUrl, modelKey }: Route): object {
  return {
    autoupdate: false,
    share: 'disabled',
    model: name,
    small_model: name,
    enabled_providers: [api],
    permission: { webfetch: 'deny', websearch: 'deny' },
    provider: { [api]: { options: { baseURL: modelUrl, apiKey: modelKey }, models: { [model]: {} } } },
  };
}
