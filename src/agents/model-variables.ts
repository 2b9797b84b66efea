import type { AgentIntent } from './adapter.ts';

/** halo's own names, and those that the clients of the provider look for by themselves. */
export function modelVariables({ api, model, gatewayToken }: AgentIntent, modelUrl: string): Record<string, string> {
  const own = { HALO_MODEL_URL: modelUrl, HALO_MODEL_KEY: gatewayToken, HALO_MODEL: model };
  const root = modelUrl.replace(/\/v1$/, '');
  switch (api) {
    case 'openai':
      return { ...own, OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: gatewayToken };
    case 'anthropic':
      return { ...own, ANTHROPIC_BASE_URL: root, ANTHROPIC_API_KEY: gatewayToken };
    case 'google':
      return { ...own, GOOGLE_GEMINI_BASE_URL: root, GEMINI_API_KEY: gatewayToken };
    case undefined:
      return own;
  }
}
