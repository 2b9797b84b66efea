import { readFileSync, writeFileSync } from 'node:fs';
import { findProvider } from '@pydantic/genai-prices';
import { expect, it } from 'vitest';
import { ADDED_MODELS, findModel, knownModels, type ModelCatalog } from '../../../src/core/model/catalog.ts';
import { readPrices } from '../../../src/core/model/read-prices.ts';

const FILE = new URL('../../../src/core/model/models.json', import.meta.url);
const { version } = JSON.parse(
  readFileSync(new URL('../../../node_modules/@pydantic/genai-prices/package.json', import.meta.url), 'utf8'),
) as { version: string };
/** The day on which that version was published. */
const PUBLISHED = '2026-09-23';
const published = ['openai', 'anthropic', 'google'].map((providerId) => findProvider({ providerId }));

it('the built-in models are those of the pinned package (HALO_TEST_RECORD=1 writes them again)', () => {
  const catalog = readPrices(published, { source: `@pydantic/genai-prices ${version}`, date: PUBLISHED });
  if (process.env.HALO_TEST_RECORD === '1') {
    const lines = catalog.models.map((model) => `    ${JSON.stringify(model)}`);
    const { source, date } = catalog;
    const head = `{\n  "source": ${JSON.stringify(source)},\n  "date": ${JSON.stringify(date)},\n  "models": [\n`;
    writeFileSync(FILE, `${head}${lines.join(',\n')}\n  ]\n}\n`);
  }
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(catalog);
});

it('models that the source lacks are added, until it has them', () => {
  const { models } = JSON.parse(readFileSync(FILE, 'utf8')) as ModelCatalog;
  expect(ADDED_MODELS.filter(({ name }) => models.some((model) => model.name === name))).toEqual([]);
});

it.each([
  ['gpt-5.5', 'gpt-5.5'],
  ['gpt-5.5-2026-04-23', 'gpt-5.5'],
  ['gpt-5.1-codex', 'gpt-5.1'],
  ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
  ['claude-sonnet-5-5', 'claude-sonnet-5-5'],
  ['gemini-3.1-pro', 'gemini-3.1-pro-preview'],
  ['gemini-3.1-pro-preview', 'gemini-3.1-pro-preview'],
  ['gpt-5.5-turbo', undefined],
  ['toString', undefined],
])('%s is the model %s', (name, found) => {
  expect(findModel(knownModels(), name)?.name).toBe(found);
});

it('an updated list counts unless it is older, and models that it lacks are added to it, too', () => {
  const price = { input: 1, cached: 1, cacheWrite: 1, output: 1 };
  const updated = (date: string): ModelCatalog => ({
    ...{ source: 'a test', date },
    models: [{ api: 'openai', name: 'gpt-9', price }],
  });
  expect(knownModels(updated('9999-01-01')).models.map(({ name }) => name)).toEqual([
    'gpt-9',
    ...ADDED_MODELS.map(({ name }) => name),
  ]);
  expect(knownModels(updated('2020-01-01'))).toEqual(knownModels());
});

it('no price of cached input or output is cheaper than it can be', () => {
  for (const { price } of knownModels().models) {
    expect(price.cached).toBeLessThanOrEqual(price.input);
    expect(price.cacheWrite).toBeGreaterThanOrEqual(price.input);
    expect(price.output).toBeGreaterThan(0);
    expect(price.long?.input ?? price.input).toBeGreaterThanOrEqual(price.input);
  }
});
