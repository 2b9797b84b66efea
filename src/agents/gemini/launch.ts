import { HaloError } from '../../core/failure/errors.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';

const FOLDER = '/opt/halo/agents/gemini';
const NODE = '/opt/halo/agents/node/bin/node';
const PROGRAM = `${FOLDER}/bundle/gemini.js`;

/**
 * Starts `gemini`, whose prompt comes on stdin. Settings that the repository cannot override stand in a file of the
 * image: its hooks, servers and variables are not in force. Throws INTERNAL without a model route.
 */
export function launchGemini({ model, modelUrl, modelKey, home }: AgentIntent): AgentLaunch {
  if (modelUrl === undefined) throw new HaloError('INTERNAL', 'Gemini CLI was to be started without a model route.');
  return {
    script: `if [ ! -f ${PROGRAM} ]; then
  echo 'Gemini CLI is not in this sandbox (looked for ${PROGRAM}); build the image anew with: halo image build' >&2
  exit 127
fi
exec ${NODE} ${PROGRAM} --yolo --output-format stream-json --model ${shellQuote(model)}
`,
    env: {
      HOME: home,
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: `${FOLDER}/settings.json`,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GOOGLE_GEMINI_BASE_URL: modelUrl.replace(/\/v1$/, ''),
      // The gateway puts the key in: this is the token of the attempt.
      GEMINI_API_KEY: modelKey,
    },
    files: {},
  };
}
