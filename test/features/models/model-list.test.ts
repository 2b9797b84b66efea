import { expect, it } from 'vitest';
import type { ModelCatalog } from '../../../src/core/model/catalog.ts';
import {
  listModels,
  readModelIds,
  type ProviderReach,
  type Reach,
} from '../../../src/features/models/core/model-list.ts';

const price = { input: 4, cached: 0.4, cacheWrite: 5, output: 20 };
const catalog: ModelCatalog = {
  ...{ source: 'a test', date: '2026-11-01' },
  models: [
    { api: 'openai', name: 'gpt-9', aliases: ['gpt-9-codex'], context: 400_000, price },
    { api: 'openai', name: 'gpt-8', price },
    { api: 'google', name: 'gemini-9', price },
  ],
};
const provider = (reach: Reach): ProviderReach => ({
  ...{ api: 'openai', baseUrl: 'https://models.example/v1', preset: 'gpt-9', agents: ['codex', 'opencode'] },
  reach,
});
const namesOf = (reach: Reach, { all = false, prices = {} } = {}) =>
  listModels([provider(reach)], { catalog, prices, all }).map(({ name }) => name);

it('lists what a provider offers and halo knows, by the names of the provider', () => {
  const models = ['gpt-9-2026-10-10', 'gpt-9-codex', 'text-embedding-9', 'gemini-9'];
  expect(namesOf({ kind: 'reached', models })).toEqual(['gpt-9-2026-10-10', 'gpt-9-codex']);
});

it('lists models with a price of one’s own', () => {
  const [model] = listModels([provider({ kind: 'reached', models: ['own'] })], {
    catalog,
    prices: { own: price },
    all: false,
  });
  expect(model).toEqual({ api: 'openai', name: 'own', price, ownPrice: true, agents: ['codex', 'opencode'] });
});

it('marks the model of runs that name none, with its facts', () => {
  const [model] = listModels([provider({ kind: 'reached', models: ['gpt-9'] })], { catalog, prices: {}, all: false });
  expect(model).toMatchObject({ name: 'gpt-9', context: 400_000, price, preset: true });
});

it('lists nothing of a provider that was not reached, unless everything is wanted', () => {
  expect(namesOf({ kind: 'no-key' })).toEqual([]);
  expect(namesOf({ kind: 'failed', why: 'the answer is 401' })).toEqual([]);
  expect(namesOf({ kind: 'no-key' }, { all: true })).toEqual(['gpt-8', 'gpt-9']);
  expect(namesOf({ kind: 'reached', models: ['gpt-9-codex', 'other'] }, { all: true })).toEqual([
    'gpt-8',
    'gpt-9-codex',
    'other',
  ]);
});

it.each([
  ['openai', { data: [{ id: 'gpt-9' }, { id: 5 }, null, {}] }, ['gpt-9']],
  ['anthropic', { data: [{ type: 'model', id: 'claude-opus-9' }] }, ['claude-opus-9']],
  ['google', { models: [{ name: 'models/gemini-9' }] }, ['gemini-9']],
] as const)('reads the list of %s', (api, body, ids) => {
  expect(readModelIds(api, body)).toEqual(ids);
});

it.each([[null], ['text'], [{}], [{ data: 'x' }]])('refuses %j as a list', (body) => {
  expect(() => readModelIds('openai', body)).toThrow('not a list of models');
});
