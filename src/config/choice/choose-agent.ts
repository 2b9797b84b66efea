import type { AgentChoice, MadeChoice } from '../../core/agent-choice.ts';
import { effortsOf } from '../../core/agent-options.ts';
import type { StartFacts } from '../../core/journal/start-facts.ts';
import type { Story } from '../../core/prd/prd.ts';
import { measuresOf } from '../../core/prd/story-measures.ts';
import { compileGlobs } from '../../lib/glob.ts';
import { defined } from '../../lib/guards.ts';
import type { Config } from '../config.ts';
import type { Route } from '../schema/choice-table.ts';

/** What a choice depends on. */
export interface ChoosingFor {
  story: Pick<Story, 'id' | 'extra' | 'acceptance'>;
  /** Counts from 1. */
  attempt: number;
}

/**
 * Which agent, model and effort an attempt has: what its story says, else the first route that matches; undefined: those of
 * the run. A model and an effort hold for the agent that they are chosen with.
 */
export function chooseAgent(
  config: Pick<Config, 'agent' | 'model' | 'otherAgents' | 'storyChoices' | 'route'>,
  { story, attempt }: ChoosingFor,
): MadeChoice | undefined {
  const { storyChoices } = config;
  const own: AgentChoice = Object.hasOwn(storyChoices, story.id) ? (storyChoices[story.id] ?? {}) : {};
  const matching = matcherOf(story, attempt);
  const index = config.route.findIndex(matching);
  const found = config.route[index];
  const ofRoute = found?.agent ?? config.agent;
  const agent = own.agent ?? (own.model === undefined ? ofRoute : config.agent);
  const route = agent === ofRoute ? found : undefined;
  const { api } = (agent === config.agent ? config : (config.otherAgents[agent] ?? config)).model;
  const effort = own.effort ?? route?.effort;
  const made = defined({
    model: own.model ?? route?.model,
    effort: effortsOf(agent, api).find((each) => each === effort),
  });
  const isOwn = Object.keys(own).length > 0;
  if (!isOwn && route === undefined) return undefined;
  return { agent, ...made, ...(isOwn ? { by: 'story' } : { by: 'route', route: index + 1 }) };
}

/** Whether a route is for an attempt: all of its conditions hold. */
function matcherOf({ extra, acceptance }: ChoosingFor['story'], attempt: number): (route: Route) => boolean {
  let read: ReturnType<typeof measuresOf> | undefined;
  return (route) => {
    const { labels, paths, sizes, points, criteria } = (read ??= measuresOf({ extra, acceptance }));
    const { path } = route;
    return (
      (route.label === undefined || labels.includes(route.label.toLowerCase())) &&
      (route.size === undefined || sizes.includes(route.size.toLowerCase())) &&
      (route.points === undefined || (points !== undefined && points >= route.points)) &&
      criteria >= (route.criteria ?? 0) &&
      attempt >= (route.attempt ?? 1) &&
      (path === undefined || paths.some((each) => compileGlobs([path]).test(each)))
    );
  };
}

/** The configuration of an attempt with a choice. */
export function withChoice(config: Config, choice: AgentChoice | undefined): Config {
  if (choice === undefined) return config;
  const { agent = config.agent, model: name, effort } = choice;
  const other = agent === config.agent ? undefined : config.otherAgents[agent];
  const { agentCommand, agentAnswer, agentOptions: options, model: own } = config;
  const before = { [config.agent]: { agentCommand, agentAnswer, agentOptions: options, model: own } };
  const base: Config =
    other === undefined ? config : { ...config, agent, ...other, otherAgents: { ...config.otherAgents, ...before } };
  const { model, agentOptions } = base;
  return {
    ...base,
    agentOptions: { ...agentOptions, ...defined({ effort }) },
    model: name === undefined ? model : { ...model, name, fallback: model.fallback.filter((each) => each !== name) },
  };
}

/**
 * The configurations with which an attempt may be made, in order: as chosen, and with each agent of `fallback`; without the
 * agents that it has left because their provider failed, unless it has left all.
 */
export function configsInOrder(config: Config, left: readonly string[]): Config[] {
  const agents = [...new Set([config.agent, ...config.fallback])].filter((agent) => !left.includes(agent));
  return agents.length === 0 ? [config] : agents.map((agent) => withChoice(config, { agent }));
}

/** The configuration of an attempt with one of the models of its run. */
export function withModel(config: Config, name: string): Config {
  const { model } = config;
  if (name === model.name) return config;
  const others = [model.name, ...model.fallback].filter((each) => each !== name);
  return { ...config, model: { ...model, name, fallback: others } };
}

/** The configuration with which an attempt has started, from that of its run. */
export function configOfStart(config: Config, { choice, fallback }: StartFacts): Config {
  if (fallback === undefined) return withChoice(config, choice);
  const { agent, model } = fallback;
  return withModel(withChoice(config, agent === undefined ? choice : { agent }), model);
}
