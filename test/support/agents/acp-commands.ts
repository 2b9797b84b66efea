/** Node in every sandbox. */
export const NODE = '/opt/halo/agents/node/bin/node';

/** The settings of a run with an agent of the Agent Client Protocol, which this command starts. */
export function byAcp(command: string, api: string): string[] {
  return ['agent=by-acp', `agents.by-acp.acp=${JSON.stringify(command)}`, `agents.by-acp.model="${api}"`];
}

/** Gemini CLI, without settings of the repository that change what it may do. */
export const GEMINI = [
  'GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_SYSTEM_SETTINGS_PATH=/opt/halo/agents/gemini/settings.json',
  `${NODE} /opt/halo/agents/gemini/bundle/gemini.js --acp -m "$HALO_MODEL"`,
].join(' ');

const CONFIG = JSON.stringify({
  model: 'anthropic/MODEL',
  small_model: 'anthropic/MODEL',
  enabled_providers: ['anthropic'],
  provider: { anthropic: { options: { baseURL: '@URL@', apiKey: 'KEY' }, models: { MODEL: {} } } },
});

/** A shell command that puts the settings of opencode, or of a program made from it, into a variable. */
export function opencodeConfig(variable: string): string {
  return `export ${variable}="$(echo '${CONFIG}' | sed "s|MODEL|$HALO_MODEL|g; s|@URL@|$HALO_MODEL_URL|; s|KEY|$HALO_MODEL_KEY|")"`;
}

/** opencode with Anthropic. */
export const OPENCODE = `${opencodeConfig('OPENCODE_CONFIG_CONTENT')}; exec /opt/halo/agents/opencode/opencode acp`;
