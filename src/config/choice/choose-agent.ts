import type { AgentChoice, MadeChoice } from '../../core/agent-choice.ts';
import { defined } from '../../lib/guards.ts';
import type { Config } from '../config.ts';

/** Which agent, model and effort an attempt has; undefined: those of the run. */
export function chooseAgent(
  config: Pick<Config, 'agent' | 'storyChoices'>,
  { story }: { story: string },
): MadeChoice | undefined {
  const own = Object.hasOwn(config.storyChoices, story) ? config.storyChoices[story] : undefined;
  if (own === undefined) return undefined;
  return { ...own, agent: own.agent ?? config.agent, by: 'story' };
}

/** The configuration of an attempt with a choice. */
export function withChoice(config: Config, choice: AgentChoice | undefined): Config {
  if (choice === undefined) return config;
  const { agent = config.agent, model: name, effort } = choice;
  const other = agent === config.agent ? undefined : config.otherAgents[agent];
  const base: Config = { ...config, agent, ...other };
  const { model, agentOptions } = base;
  return {
    ...base,
    agentOptions: { ...agentOptions, ...defined({ effort }) },
    model: name === undefined ? model : { ...model, name, fallback: model.fallback.filter((each) => each !== name) },
  };
}
