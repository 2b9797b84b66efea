import { describe, expect, test } from 'vitest';
import { chooseAgent, withChoice } from '../../src/config/choice/choose-agent.ts';
import { chooseAgain } from '../../src/config/choice/resolve-choices.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';

type Fields = Record<string, unknown>;

const story = (extra: Fields, id = 'S1') => ({ id, extra });
const resolve = (
  stories: { id: string; extra: Fields }[],
  {
    home = '',
    repo,
    set = [],
    remote = false,
  }: { home?: string; repo?: string; set?: string[]; remote?: boolean } = {},
) =>
  resolveConfig({
    home: parseConfigFile('/home/ada/.halo/config.toml', home),
    repo: repo === undefined ? undefined : parseConfigFile('/repo/halo.toml', repo),
    request: remote ? [] : undefined,
    cwd: '/work',
    stories,
    set,
  });

/** Agent, model and effort of the first attempt at the story S1. */
function chosen(extra: Fields, settings: Parameters<typeof resolve>[1] = {}) {
  const { config, unused } = resolve([story(extra)], settings);
  const { agent, model, agentOptions } = withChoice(
    config,
    chooseAgent(config, { story: { ...story(extra), acceptance: [] }, attempt: 1 }),
  );
  return { uses: [agent, model.api && model.name, agentOptions.effort].filter(Boolean).join(' '), unused };
}

const QWEN = ['agents.qwen.acp="qwen --acp"'];

describe('the fields of a story choose', () => {
  test.each<[string, Fields, string[], string]>([
    ['nothing without fields', {}, [], 'codex gpt-5.5'],
    ['an agent, with the model of its provider', { agent: 'claude' }, [], 'claude claude-sonnet-5-5'],
    ['a model of the agent of the run', { model: 'gpt-5.4' }, [], 'codex gpt-5.4'],
    ['an effort', { effort: 'High' }, [], 'codex gpt-5.5 high'],
    [
      'all three',
      { Agent: 'Claude', model: 'claude-haiku-5-5', reasoning_effort: 'max' },
      [],
      'claude claude-haiku-5-5 max',
    ],
    ['an agent of the Agent Client Protocol', { agent: 'qwen' }, QWEN, 'qwen gpt-5.5'],
    ['an agent without the model of the run', { agent: 'claude' }, ['model.name=gpt-5.4'], 'claude claude-sonnet-5-5'],
    [
      'an agent with the model of the run, if the API is the same',
      { agent: 'qwen' },
      [...QWEN, 'model.name=gpt-5.4'],
      'qwen gpt-5.4',
    ],
    [
      'an agent with the effort of the run, if it can request it',
      { agent: 'claude' },
      ['model.effort=low'],
      'claude claude-sonnet-5-5 low',
    ],
    [
      'an agent that cannot request the effort of the run',
      { agent: 'claude' },
      ['model.effort=minimal'],
      'claude claude-sonnet-5-5',
    ],
    ['a model that only the settings know', { model: 'mine' }, ['model.allow=["mine"]'], 'codex mine'],
  ])('%s', (_what, extra, set, uses) => {
    expect(chosen(extra, { set })).toEqual({ uses, unused: [] });
  });

  test.each<[string, Fields, string]>([
    ['the name of a person', { agent: 'Ada' }, 'there is no agent "ada", so the field is only text for the agent.'],
    [
      'a misspelled agent',
      { agent: 'cluade' },
      'there is no agent "cluade", so the field is only text for the agent; did you mean "claude"?',
    ],
    ['a data model', { model: 'Invoice' }, 'the agent codex cannot use a model "Invoice"'],
    ['a model of another provider', { model: 'claude-opus-5' }, 'the agent codex cannot use a model "claude-opus-5"'],
  ])('nothing with %s, and the run says so', (_what, extra, says) => {
    const { uses, unused } = chosen(extra);
    expect(uses).toBe('codex gpt-5.5');
    expect(unused).toEqual([expect.stringContaining(`story S1: ${says}`)]);
  });

  test('nothing with an estimate of work', () => {
    expect(chosen({ effort: '3 days' })).toEqual({ uses: 'codex gpt-5.5', unused: [] });
    expect(chosen({ effort: 'high' }, { set: ['agent=command', 'agents.command.run=x'] }).unused).toHaveLength(1);
  });

  test('a provider with its own key, address, prices and rates', () => {
    const home = [
      '[model]\nkey_env = "OPEN_KEY"\nbase_url = "https://open.example/v1"',
      '[providers.anthropic]\nkey_env = "OTHER_KEY"\nbase_url = "https://claude.example/v1"',
      '[rate."claude-sonnet-5-5"]\nrpm = 3',
    ].join('\n');
    const { config } = resolve([story({ agent: 'claude' })], { home });
    expect(config.model).toMatchObject({ keyEnv: 'OPEN_KEY', baseUrl: 'https://open.example/v1' });
    const { model } = withChoice(config, chooseAgent(config, { story: { ...story({}), acceptance: [] }, attempt: 1 }));
    expect(model).toMatchObject({ api: 'anthropic', keyEnv: 'OTHER_KEY', baseUrl: 'https://claude.example/v1' });
    expect(config.prices).toMatchObject({ 'claude-sonnet-5-5': { input: 2 }, 'gpt-5.5': {} });
    expect(config.rate).toEqual({ 'claude-sonnet-5-5': { rpm: 3 } });
  });
});

describe('a choice is refused', () => {
  const refused = (...args: Parameters<typeof resolve>) => {
    try {
      resolve(...args);
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  test('for an agent that its settings do not complete', () => {
    expect(refused([story({ agent: 'command' })])).toMatch(/story S1 chooses command: .*requires agents.command.run/);
  });

  test('for a model without a price, if the run has a budget', () => {
    const set = ['model.allow=["mine"]', 'prices.mine={input=1,output=1}', 'budget.run_usd=1'];
    expect(refused([story({ model: 'mine' })], { set })).toBeUndefined();
    expect(refused([story({ agent: 'qwen' })], { set: ['agents.qwen.acp="qwen"', 'model.name=odd'] })).toBeUndefined();
    const priced = ['agent=claude', 'agents.qwen.acp="qwen"', 'providers.openai.base_url="https://own.example/v1"'];
    expect(refused([story({ agent: 'qwen' })], { set: [...priced, 'budget.run_usd=1'] })).toBeUndefined();
  });

  test.each([
    ['a PRD', { extra: { agent: 'claude' } }, /^story S1: the agent "claude" may not be chosen: choice\.agents/],
    [
      'a PRD, for a model',
      { extra: { model: 'gpt-5.4' } },
      /^story S1: the model "gpt-5.4" may not be chosen: choice\.models/,
    ],
    ['a repository', { repo: 'agent = "claude"' }, /halo\.toml:1: agent: the agent "claude" may not be chosen/],
    ['a repository, for a model', { repo: '[model]\nname = "gpt-5.4"' }, /model\.name: the model "gpt-5.4" may not/],
    ['a request', { set: ['agent=claude'], remote: true }, /^-c: agent: the agent "claude" may not be chosen/],
    [
      'a request, for a fallback',
      { set: ['model.fallback=["gpt-5.4"]'], remote: true },
      /model\.fallback: the model "gpt-5.4"/,
    ],
    [
      'a request, for a further model',
      { set: ['model.allow=["gpt-5.4"]'], remote: true },
      /model\.allow: the model "gpt-5.4"/,
    ],
    ['the lists of a repository', { repo: '[choice]\nagents = ["claude"]' }, /may not choose which agents are allowed/],
  ])(
    'that [choice] does not allow to %s',
    (_who, { extra = {}, ...sources }: { extra?: Fields; repo?: string; set?: string[]; remote?: boolean }, why) => {
      const home = '[choice]\nagents = ["codex"]\nmodels = ["gpt-5.5*"]\n';
      expect(refused([story(extra)], { home, ...sources })).toMatch(why);
    },
  );

  test('but not to the owner, nor a model that the owner names', () => {
    const home = '[choice]\nagents = ["codex"]\nmodels = []\n[model]\nfallback = ["gpt-5.4"]\n';
    const own = '[choice]\nagents = ["codex"]\nmodels = []\n';
    expect(chosen({}, { home: own, set: ['agent=claude'] }).uses).toBe('claude claude-sonnet-5-5');
    expect(chosen({ model: 'gpt-5.4' }, { home }).uses).toBe('codex gpt-5.4');
  });
});

test('another PRD chooses among the agents and models that the run has', () => {
  const { config } = resolve([story({ agent: 'claude' }), story({ model: 'gpt-5.4' }, 'S2')]);
  const again = chooseAgain(config, [
    story({ agent: 'claude', effort: 'high' }),
    story({ agent: 'gemini' }, 'S2'),
    story({ model: 'gpt-5.4' }, 'S3'),
    story({ model: 'gpt-5.3-codex' }, 'S4'),
  ]);
  expect(again).toEqual({
    storyChoices: { S1: { agent: 'claude', effort: 'high' }, S3: { model: 'gpt-5.4' } },
    problems: [],
    unused: [expect.stringContaining('story S2'), expect.stringContaining('story S4')],
  });
});

test('another PRD may not choose what only a route of the owner brought, as at a submit', () => {
  const home = '[choice]\nagents = ["codex"]\nmodels = []\n[[route]]\nlabel = "ui"\nagent = "claude"\n';
  const { config } = resolve([story({})], { home });
  expect(Object.keys(config.otherAgents)).toEqual(['claude']);
  const again = chooseAgain(config, [story({ agent: 'claude' })]);
  expect(again).toMatchObject({ storyChoices: {}, problems: [expect.stringMatching(/^story S1: the agent "claude"/)] });
  expect(() => resolve([story({ agent: 'claude' })], { home })).toThrow('the agent "claude" may not be chosen');
  expect(chooseAgain(config, [story({ effort: 'high' })]).problems).toEqual([]);
});

describe('routes choose', () => {
  const ROUTES = [
    '[[route]]\nattempt = 3\nmodel = "gpt-5.4"\neffort = "xhigh"',
    '[[route]]\nlabel = "UI"\npath = "web/**"\nagent = "claude"\neffort = "max"',
    '[[route]]\nsize = "xl"\nagent = "gemini"',
    '[[route]]\npoints = 8\nmodel = "gpt-5.3"',
    '[[route]]\ncriteria = 3\neffort = "high"',
  ].join('\n');
  const route = (extra: Fields, { attempt = 1, criteria = 1 } = {}) => {
    const { config } = resolve([story(extra)], { repo: ROUTES });
    const made = chooseAgent(config, {
      story: { ...story(extra), acceptance: Array.from({ length: criteria }, () => 'x') },
      attempt,
    });
    const { agent, model, agentOptions } = withChoice(config, made);
    return [agent, model.name, agentOptions.effort, made?.by, made?.route].filter(Boolean).join(' ');
  };

  test.each<[string, Fields, Parameters<typeof route>[1], string]>([
    ['nothing if none matches', {}, {}, 'codex gpt-5.5'],
    ['by attempt', {}, { attempt: 3 }, 'codex gpt-5.4 xhigh route 1'],
    ['by attempt, first', { size: 'XL' }, { attempt: 4 }, 'codex gpt-5.4 xhigh route 1'],
    ['by label and path', { labels: ['ui'], files: ['`web/a/b.ts`'] }, {}, 'claude claude-sonnet-5-5 max route 2'],
    ['only if all conditions hold', { labels: ['ui'], files: ['src/web/a.ts'] }, {}, 'codex gpt-5.5'],
    ['by labels in one text', { Tags: 'api, UI', path: './web/x' }, {}, 'claude claude-sonnet-5-5 max route 2'],
    [
      'by labels of an issue',
      { labels: [{ name: 'ui', color: 'fff' }], files: 'web/x' },
      {},
      'claude claude-sonnet-5-5 max route 2',
    ],
    ['by size', { complexity: 'XL' }, {}, 'gemini gemini-2.5-pro route 3'],
    ['by points', { storyPoints: '13' }, {}, 'codex gpt-5.3 route 4'],
    ['not by fewer points, or none', { points: 5, estimate: 'two days' }, {}, 'codex gpt-5.5'],
    ['by the number of criteria', {}, { criteria: 3 }, 'codex gpt-5.5 high route 5'],
    [
      'less than the fields of the story',
      { agent: 'gemini', size: 'xl' },
      { attempt: 3 },
      'gemini gemini-2.5-pro story',
    ],
    ['what the fields leave open, for the same agent', { effort: 'low' }, { attempt: 3 }, 'codex gpt-5.4 low story'],
    ['no other agent for the model of a story', { model: 'gpt-5.4', size: 'xl' }, {}, 'codex gpt-5.4 story'],
    ['an agent without an effort that it lacks', { effort: 'minimal', size: 'xl' }, {}, 'gemini gemini-2.5-pro story'],
  ])('%s', (_what, extra, how, uses) => {
    expect(route(extra, how)).toBe(uses);
  });

  test.each([
    ['agent = "cluade"', 'route 1: there is no agent "cluade"; did you mean "claude"?'],
    ['model = "claude-opus-5"', 'route 1: the agent codex cannot use a model "claude-opus-5"'],
    ['agent = "claude"\neffort = "minimal"', 'route 1 chooses claude: '],
    ['agent = "command"', 'requires agents.command.run'],
    ['attempt = 2', 'must choose at least one of agent, model and effort'],
    ['attempts = 2\nmodel = "x"', 'attempts'],
  ])('nothing that cannot be used: %s', (text, why) => {
    expect(() => resolve([], { repo: `[[route]]\n${text}` })).toThrow(why);
  });

  test('among what [choice] allows, unless the owner has written them', () => {
    const route = '[[route]]\nattempt = 2\nagent = "claude"\nmodel = "claude-opus-5"\n';
    const home = '[choice]\nagents = ["codex"]\nmodels = ["gpt-*"]\n';
    expect(() => resolve([], { home, repo: route })).toThrow(/route: the agent "claude" may not be chosen/);
    expect(() => resolve([], { home: home.replace('codex', 'claude'), repo: route })).toThrow(/route: the model/);
    expect(resolve([], { home: `${home}${route}` }).config.otherAgents).toHaveProperty('claude');
  });

  test.each([
    ['[[route]]\nattempt = 2\nagent = "claude"\n', /^route 1: the model "claude-sonnet-5-5" may not be chosen/],
    ['fallback = ["claude"]\n', /^fallback: the model "claude-sonnet-5-5" may not be chosen/],
  ])('and the default model of an agent is a choice: %s', (text, why) => {
    const choice = '[choice]\nmodels = ["gpt-*"]\n';
    expect(() => resolve([], { home: choice, repo: text })).toThrow(why);
    expect(resolve([], { home: `${text}${choice}` }).config.otherAgents).toHaveProperty('claude');
  });
});
