import { HaloError } from '../../core/failure/errors.ts';
import { shellQuote } from '../../lib/text.ts';
import type { Effort } from '../../core/agent-options.ts';
import type { AgentIntent, AgentLaunch } from '../adapter.ts';
import { launchScript } from '../launch-script.ts';

const FOLDER = '/opt/halo/agents/gemini';
const NODE = '/opt/halo/agents/node/bin/node';
const PROGRAM = `${FOLDER}/bundle/gemini.js`;

/**
 * Starts `gemini` with the prompt on stdin. A settings file in the image overrides those of the repository, so its hooks,
 * servers and variables are not used. Throws INTERNAL without a model route.
 */
export function launchGemini({ model, modelUrl, gatewayToken, home, options }: AgentIntent): AgentLaunch {
  if (modelUrl === undefined) throw new HaloError('INTERNAL', 'Gemini CLI has no model route.');
  const { effort } = options ?? {};
  return {
    script: launchScript({
      title: 'Gemini CLI',
      program: PROGRAM,
      command: `${NODE} ${PROGRAM} --yolo --output-format stream-json --model ${shellQuote(model)}`,
      test: '-f',
    }),
    env: {
      HOME: home,
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: `${FOLDER}/settings.json`,
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
