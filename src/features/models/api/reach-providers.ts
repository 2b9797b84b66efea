import type { Host } from '../../../config/config.ts';
import { processEnv, readSecret } from '../../../config/environment/host.ts';
import { readConfig } from '../../../api/repository/repo-config.ts';
import type { AgentId, ModelApi } from '../../../core/agent.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';
import { openProviderKeys, openSecretReader } from '../../../worker/network/secret-reader.ts';
import { readModelIds, type ProviderReach, type Reach } from '../core/model-list.ts';
import { fetchJson } from './fetch-json.ts';

/** The agent by which the settings of a provider are read, and all that speak its protocol. */
const PROVIDERS: Record<ModelApi, [AgentId, ...AgentId[]]> = {
  openai: ['codex', 'opencode', 'command'],
  anthropic: ['claude', 'opencode', 'command'],
  google: ['gemini', 'command'],
};

/** Asks each provider for its models, with the key that this machine has for it. Throws CONFIG_INVALID. */
export async function reachProviders(host: Host, signal?: AbortSignal): Promise<ProviderReach[]> {
  const env = processEnv();
  const readKeys = openProviderKeys(openSecretReader((name) => readSecret(env, name)));
  return Promise.all(
    Object.entries(PROVIDERS).map(async ([name, agents]): Promise<ProviderReach> => {
      const api = name as ModelApi;
      const { config } = await readConfig({ host, folder: host.home, profile: undefined, set: [`agent=${agents[0]}`] });
      const { baseUrl, name: preset } = config.model;
      const keys = await readKeys(config.model).catch(toHaloError);
      const ask = async (key: string): Promise<Reach> => {
        const connections = await openMachineConnections(env, config.network.caFile);
        try {
          const body = await fetchJson(connections, listOf(api, baseUrl), { headers: headersOf(api, key), signal });
          return { kind: 'reached', models: readModelIds(api, body) };
        } catch (error) {
          return { kind: 'failed', why: safeLine((error as Error).message.replaceAll(key, '…'), 200) };
        } finally {
          connections.close();
        }
      };
      const [key] = Array.isArray(keys) ? keys : [];
      return { api, baseUrl, preset, agents, reach: key === undefined ? { kind: 'no-key' } : await ask(key) };
    }),
  );
}

function listOf(api: ModelApi, baseUrl: string): string {
  const all = { openai: '', anthropic: '?limit=1000', google: '?pageSize=1000' };
  return `${baseUrl.replace(/\/$/, '')}/models${all[api]}`;
}

function headersOf(api: ModelApi, key: string): Record<string, string> {
  switch (api) {
    case 'openai':
      return { authorization: `Bearer ${key}` };
    case 'anthropic':
      return { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
    case 'google':
      return { 'x-goog-api-key': key };
  }
}
