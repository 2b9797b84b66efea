import type { RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { gateway, modelServer, OPENAI } from '../../gateway/fixture.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { openBudgets } from './open-budgets.ts';

export const KEYS = ['sk-first-4417', 'sk-second-8852'];
const SOURCES = ['model.key_env=FIRST', 'model.name=m'];
export const HOURS = { fail: 429, headers: { 'retry-after': '18000' } };

/**
 * A gateway of an attempt with two keys, or with `more`, in front of a scripted provider. `keys`: which one each request had,
 * from 1.
 */
export async function openKeys(
  { home, link, more = 0 }: { home: string; link: RedisLink; more?: number },
  turns: Turn[],
  base?: string,
) {
  const further = Array.from({ length: more }, (_, index) => `sk-further-${index}`);
  const providerKeys = [...KEYS, ...further];
  const files = ['second', ...further].map((name) => `{ key_file = "/keys/${name}" }`);
  const model = await modelServer(turns);
  const baseUrl = base ?? model.url;
  const { open, events, link: shared } = await openBudgets(home, link);
  const attempt = async (settings: string[] = [], story?: string) => {
    const sources = [...SOURCES, `model.keys=[${files.join()}]`];
    const budget = await open([...sources, `model.base_url=${baseUrl}`, ...settings], 1, story);
    const route = { ...OPENAI, mode: 'live', baseUrl, providerKeys, cassette: '', budget } as const;
    return gateway({ model: route });
  };
  const keys = () =>
    model.requests.map(({ headers }) => providerKeys.indexOf(String(headers.authorization).slice(7)) + 1);
  return { attempt, events, keys, link: shared };
}
