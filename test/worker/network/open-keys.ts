import type { RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { gateway, modelServer, OPENAI } from '../../gateway/fixture.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { openBudgets } from './open-budgets.ts';

export const KEYS = ['sk-first-4417', 'sk-second-8852'];
const SOURCES = ['model.key_env=FIRST', 'model.keys=[{ key_file = "/keys/second" }]', 'model.name=m'];
export const HOURS = { fail: 429, headers: { 'retry-after': '18000' } };

/** A gateway of an attempt with two keys, in front of a scripted provider. `keys`: which one each request had, from 1. */
export async function openKeys({ home, link }: { home: string; link: RedisLink }, turns: Turn[], base?: string) {
  const model = await modelServer(turns);
  const baseUrl = base ?? model.url;
  const { open, events, link: shared } = await openBudgets(home, link);
  const attempt = async (settings: string[] = [], story?: string) => {
    const budget = await open([...SOURCES, `model.base_url=${baseUrl}`, ...settings], 1, story);
    const route = { ...OPENAI, mode: 'live', baseUrl, providerKeys: KEYS, cassette: '', budget } as const;
    return gateway({ model: route });
  };
  const keys = () => model.requests.map(({ headers }) => KEYS.indexOf(String(headers.authorization).slice(7)) + 1);
  return { attempt, events, keys, link: shared };
}
