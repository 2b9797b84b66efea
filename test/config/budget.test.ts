import { describe, expect, test } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { amendConfig } from '../../src/config/amend.ts';
import { assertRemoteOptions } from '../../src/config/trust/trust.ts';
import { resolveConfig } from '../../src/config/resolve.ts';

interface Sources {
  home?: string;
  repo?: string;
  set?: string[];
  env?: Record<string, string>;
}

function resolve({ home, repo, set = [], env = {} }: Sources) {
  return resolveConfig({
    home: home === undefined ? undefined : parseConfigFile('/home/ada/.halo/config.toml', home),
    repo: repo === undefined ? undefined : parseConfigFile('/repo/halo.toml', repo),
    env,
    set,
    cwd: '/work',
  });
}

function refusal(sources: Sources): string {
  try {
    resolve(sources);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the configuration was accepted');
}

describe('a budget', () => {
  test('a budget of the user may be lowered by the repository, but not raised', () => {
    const home = '[budget]\nstory_usd = 5\nrun_tokens = 1000';
    const lower = resolve({ home, repo: '[budget]\nstory_usd = 2\nday_usd = 1' });
    expect(lower.config.budget).toMatchObject({ storyUsd: 2, runTokens: 1000, dayUsd: 1 });
    expect(lower.origins['budget.story_usd']).toBe('/repo/halo.toml:2');
    const higher = resolve({ home, repo: '[budget]\nstory_usd = 50\nrun_tokens = 9000' });
    expect(higher.config.budget).toMatchObject({ storyUsd: 5, runTokens: 1000 });
    expect(higher.origins['budget.story_usd']).toBe('/home/ada/.halo/config.toml:2');
    expect(resolve({ repo: '[budget]\nstory_usd = 2', set: ['budget.story_usd=9'] }).config.budget.storyUsd).toBe(2);
  });

  test('may be raised by the user for one run', () => {
    const home = '[budget]\nstory_usd = 5';
    expect(resolve({ home, set: ['budget.story_usd=9.5'] }).config.budget.storyUsd).toBe(9.5);
    expect(resolve({ home, env: { HALO_BUDGET_STORY_USD: '7' } }).config.budget.storyUsd).toBe(7);
  });

  test.each([
    '[budget]\nrun_usd = 0',
    '[budget]\nrun_usd = -1',
    '[budget]\nrun_usd = "3"',
    '[budget]\nrun_tokens = 1.5',
  ])('is an amount: %j is refused', (home) => {
    expect(refusal({ home })).toContain('/home/ada/.halo/config.toml:2: budget.run_');
  });

  test('a budget of money needs a price for each model that may be requested', () => {
    const home = '[model]\nname = "house.model"\n[budget]\nrun_usd = 3';
    expect(refusal({ home })).toMatch(
      /config\.toml:4: budget\.run_usd: halo does not know what the model "house\.model" costs .*add \[prices\."house\.model"\]/,
    );
    const priced = resolve({ home: `${home}\n[prices."house.model"]\ninput = 1\noutput = 2` });
    expect(priced.config.prices).toEqual({ 'house.model': { input: 1, cached: 1, cacheWrite: 1, output: 2 } });
    expect(refusal({ home, set: ['model.name=gpt-5.5', 'model.allow=["other"]'] })).toContain(
      'the model "other" costs',
    );
    expect(resolve({ home: '[model]\nname = "house.model"\n[budget]\nrun_tokens = 3' }).config.prices).toEqual({});
  });

  test('a budget of money needs no price for a replay, which costs nothing', () => {
    const set = ['model.name=free', 'model.mode=replay', 'model.cassettes=c', 'budget.run_usd=1'];
    expect(resolve({ set }).config.model.mode).toBe('replay');
  });
});

test('a fallback needs a price if a budget of money applies', () => {
  const home = '[model]\nfallback = ["house.model"]\n[budget]\nrun_usd = 3';
  expect(refusal({ home })).toContain('halo does not know what the model "house.model" costs');
  const priced = `${home}\n[prices."house.model"]\ninput = 1\noutput = 2`;
  expect(Object.keys(resolve({ home: priced }).config.prices)).toEqual(['gpt-5.5', 'house.model']);
});

describe('changed settings of a run', () => {
  const amend = (submitted: Sources, change: Sources) => {
    const keys = (change.set ?? []).flatMap((option) => option.split('=')[0] ?? []);
    return amendConfig(resolve(submitted).config, keys, resolve(change));
  };
  const unpriced = { set: ['model.fallback=["house.model"]'] };

  test('are refused if a budget of money would apply to a model of the run without a price', () => {
    const cost = 'halo does not know what the model "house.model" costs';
    expect(() => amend(unpriced, { set: ['budget.run_usd=3'] })).toThrow(`-c: budget.run_usd: ${cost}`);
    expect(() => amend({ set: ['model.name=house.model'] }, { set: ['budget.run_usd=3'] })).toThrow(cost);
    expect(() => amend({ set: ['budget.run_usd=3'] }, { set: ['model.name=house.model'] })).toThrow(cost);
  });

  test('include what happens to a story on a broken base', () => {
    const { tests } = amend({ set: ['tests.reports=["a.xml"]'] }, { set: ['tests.broken_base=retry'] });
    expect(tests).toMatchObject({ brokenBase: 'retry', reports: ['a.xml'] });
  });

  test('read prices that are known meanwhile', () => {
    const home = '[model]\nfallback = ["house.model"]\n[prices."house.model"]\ninput = 1\noutput = 2';
    const { prices } = amend(unpriced, { home, set: ['budget.run_usd=3'] });
    expect(prices).toMatchObject({ 'house.model': { input: 1, output: 2 } });
  });

  test('are not refused for what did not fit before', () => {
    expect(amend(unpriced, { set: ['limits.cpus=3'] })).toMatchObject({ limits: { cpus: 3 } });
  });
});

describe('prices and rates', () => {
  test('are built in for common models, also with a date in the name, and can be overridden', () => {
    const priceOf = (name: string, home = '') =>
      resolve({ home, set: [`model.name=${name}`, 'budget.run_usd=1'] }).config.prices[name];
    expect(priceOf('claude-haiku-4-5-20251001')).toEqual({ input: 1, cached: 0.1, cacheWrite: 1.25, output: 5 });
    const own = '[prices."gpt-5.5"]\ninput = 7\ncached = 1\noutput = 8';
    expect(priceOf('gpt-5.5', own)).toEqual({ input: 7, cached: 1, cacheWrite: 7, output: 8 });
  });

  test('can be set by options and variables', () => {
    const set = ['model.name=a.b', 'prices."a.b"={input=1,output=2}', 'rate."a.b"={rpm=5}'];
    expect(resolve({ set }).config).toMatchObject({
      prices: { 'a.b': { input: 1, output: 2 } },
      rate: { 'a.b': { rpm: 5 } },
    });
    const more = ['model.name=a.b', 'rate."a.b".rph=50', 'rate.a.b.tpm=7'];
    expect(resolve({ home: '[rate."a.b"]\nrpm = 5\nrph = 1', set: more }).config.rate).toEqual({
      'a.b': { rpm: 5, rph: 50, tpm: 7 },
    });
    expect(resolve({ env: { HALO_RATE: '{"gpt-5.5"={tpm=9, rph=100}}' } }).config.rate).toEqual({
      'gpt-5.5': { tpm: 9, rph: 100 },
    });
  });

  test('are refused with a hint if their names lack quotes', () => {
    expect(refusal({ home: '[prices.gpt-5.5]\ninput = 1\noutput = 2' })).toContain('a name with dots must be quoted');
    expect(refusal({ home: '[rate."m"]\nrpm = 0' })).toContain('rate.m.rpm: must be a whole number');
    expect(refusal({ set: ['rate."m".rpm=0'] })).toContain('rate.m.rpm: must be a whole number');
    expect(refusal({ set: ['rate."m".rpz=1'] })).toContain('rate.m');
    expect(refusal({ set: ['rate.m=5'] })).toContain('rate.m: must be a table, like { rpm = 60, rph = 1000 }');
    expect(refusal({ home: '[rate."m"]\nrph = 1.5' })).toContain('rate.m.rph: must be a whole number');
  });

  test('prices and rates of a repository are refused: they could raise every budget', () => {
    expect(refusal({ repo: '[prices."gpt-5.5"]\ninput = 0\noutput = 0' })).toContain(
      '/repo/halo.toml:1: prices.gpt-5.5: the file of a repository may not set the prices of models',
    );
    expect(refusal({ repo: '[rate.m]\nrpm = 9' })).toContain('rate.m: the file of a repository may not');
  });

  test.each(['budget.day_usd=9', 'prices.m={input=0,output=0}', 'rate.m={rpm=1}'])(
    'budgets, prices and rates of another machine are refused: %s',
    (option) => {
      expect(() => assertRemoteOptions([option])).toThrow('cannot be set from another machine');
    },
  );
});
