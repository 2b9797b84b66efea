import { describe, expect, it } from 'vitest';
import { chooseAgent, withChoice } from '../../../src/config/choice/choose-agent.ts';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { choiceFieldsOf } from '../../../src/core/prd/choice-fields.ts';

const HOME = '[choice]\nagents = ["codex"]\nmodels = ["gpt-5.5"]\n';

/** The PRD, the repository and the options of a caller on a server whose owner allows one agent and one model. */
const ask = ({ extra = {}, repo = '', set = [] }: { extra?: Record<string, unknown>; repo?: string; set?: string[] }) =>
  resolveConfig({
    home: parseConfigFile('/srv/halo/config.toml', HOME),
    repo: parseConfigFile('/repo/halo.toml', repo),
    request: ['answer'],
    cwd: '/',
    stories: [{ id: 'S1', extra }],
    set,
  });

describe('incident agent-choice: a PRD, a repository or a request chooses agents, models or keys', () => {
  it.each([
    ['a field of a story', { extra: { agent: 'claude' } }],
    ['a model of a story', { extra: { model: 'gpt-5.4' } }],
    ['the file of the repository', { repo: 'agent = "claude"' }],
    ['a model in the file of the repository', { repo: '[model]\nname = "gpt-5.4"' }],
    ['an option', { set: ['agent=claude'] }],
    ['an option for a further model', { set: ['model.allow=["gpt-5.4"]'] }],
    ['an agent of its own', { repo: '[agents.codex2]\nacp = "x"', extra: { agent: 'codex2' } }],
    ['a route of the repository', { repo: '[[route]]\nattempt = 2\nagent = "claude"' }],
    ['a route of a request', { set: ['route=[{ attempt = 2, model = "gpt-5.4" }]'] }],
    ['a fallback of the repository', { repo: 'fallback = ["claude"]' }],
    ['a fallback of a request', { set: ['fallback=["claude"]'] }],
    ['lists of its own', { set: ['choice.agents=["claude"]'] }],
  ])('%s cannot choose what the owner does not allow', (_what, asked) => {
    expect(() => ask(asked)).toThrow(/may not be chosen|a request may not set it|cannot be set/);
  });

  it('fields of a story set nothing but agent, model and effort', () => {
    const extra = {
      agent: 'codex',
      model: 'gpt-5.5',
      effort: 'low',
      key_env: 'X',
      base_url: 'http://x',
      image: 'x',
      tools: 'WebFetch',
    };
    const { config } = ask({ extra });
    const chosen = withChoice(config, chooseAgent(config, { story: { id: 'S1', extra, acceptance: [] }, attempt: 1 }));
    expect(chosen).toEqual({
      ...config,
      agentOptions: { ...config.agentOptions, effort: 'low' },
      model: { ...config.model, name: 'gpt-5.5' },
    });
  });

  it('a field with a name that all objects have chooses nothing, and stops no attempt', () => {
    for (const name of ['constructor', 'Constructor', 'toString', '__proto__', 'has_own_property', 'value-of']) {
      const extra = Object.fromEntries([[name, 'claude']]);
      const { config } = ask({ extra, set: ['route=[{ label = "x", effort = "low" }]'] });
      const story = { id: 'S1', extra, acceptance: [] };
      expect(chooseAgent(config, { story, attempt: 1 })).toBeUndefined();
      expect(choiceFieldsOf(story)).toEqual({});
    }
  });

  it('values that no agent has do not reach a program', () => {
    for (const value of ['gpt-5.5\n--yolo', 'x'.repeat(1000), ['claude'], { a: 1 }])
      expect(choiceFieldsOf({ extra: { model: value } })).toEqual({});
    expect(ask({ extra: { model: '--dangerous', agent: '../codex', effort: '$(x)' } }).config.storyChoices).toEqual({});
  });
});
