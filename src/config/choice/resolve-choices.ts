import type { AgentChoice } from '../../core/agent-choice.ts';
import { EFFORTS, effortsOf } from '../../core/agent-options.ts';
import { choiceFieldsOf } from '../../core/prd/choice-fields.ts';
import type { Story } from '../../core/prd/prd.ts';
import { closeSentence, didYouMean } from '../../core/text/did-you-mean.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { isForeignModel } from '../resolve-model.ts';
import type { AgentSettings, Config } from '../config.ts';
import type { Route } from '../schema/choice-table.ts';
import { allowingAgain, refusal, type Allowing } from './allowed-choices.ts';
import { withChoice } from './choose-agent.ts';

/** What choices are resolved with. */
interface Choosing {
  stories: readonly Pick<Story, 'id' | 'extra'>[];
  /** The names of all agents. */
  agents: readonly string[];
  isAllowed: Allowing;
  /** Whether others than the owner have written the routes, or the list of fallbacks. */
  isForeign: (key: 'route' | 'fallback') => boolean;
  /** Whether the agent of a configuration can use a model. */
  isKnown: (model: string, config: Config) => boolean;
  /** The configuration of the run with another agent. */
  withAgent: (agent: string) => Config;
  /** Adds prices and rates of a model. */
  withModel: (config: Config, model: string) => Config;
  conflictsOf: (config: Config) => string[];
}

interface Resolved {
  config: Config;
  problems: string[];
  /** Sentences about fields that the run cannot use. */
  unused: string[];
}

/**
 * Adds to the configuration of a run what its stories choose, and the agents for it. A field that is of no use to the run,
 * such as the name of a person, remains a text for the agent.
 */
export function resolveChoices(config: Config, choosing: Choosing): Resolved {
  const resolved: Resolved = { config, problems: [], unused: [] };
  const chosen: [id: string, choice: AgentChoice][] = [];
  const checked = new Set<string>();
  for (const [index, route] of config.route.entries())
    resolveRoute(resolved, route, { place: `route ${index + 1}`, isOwners: !choosing.isForeign('route'), choosing });
  const isOwners = !choosing.isForeign('fallback');
  for (const agent of config.fallback) resolveRoute(resolved, { agent }, { place: 'fallback', isOwners, choosing });
  for (const story of choosing.stories) {
    const choice = resolveStory(resolved, story, choosing);
    if (choice === undefined) continue;
    chosen.push([story.id, choice]);
    // Many stories may choose the same.
    if (checked.has(JSON.stringify(choice))) continue;
    checked.add(JSON.stringify(choice));
    addChoice(resolved, { choice, place: `story ${safeLine(story.id, 100)}` }, choosing);
  }
  resolved.config = { ...resolved.config, storyChoices: Object.fromEntries(chosen) };
  return resolved;
}

/**
 * What the stories of another PRD choose in a run with this configuration, of the agents and models that it has; sentences
 * about the rest, and about what `[choice]` refuses.
 */
export function chooseAgain(
  config: Config,
  stories: Choosing['stories'],
): Pick<Resolved, 'problems' | 'unused'> & { storyChoices: Config['storyChoices'] } {
  const isKnown = (name: string, { model, prices }: Config) =>
    model.api !== undefined &&
    !isForeignModel(name, { api: model.api, baseUrl: model.baseUrl }) &&
    ([model.name, ...model.fallback, ...model.allow].includes(name) || Object.hasOwn(prices, name));
  const {
    config: chosen,
    problems,
    unused,
  } = resolveChoices(
    { ...config, fallback: [], route: [], storyChoices: {} },
    {
      stories,
      agents: [config.agent, ...Object.keys(config.otherAgents)],
      isAllowed: allowingAgain(config),
      isForeign: () => false,
      isKnown,
      withAgent: (agent) => withChoice(config, { agent }),
      withModel: (same) => same,
      conflictsOf: () => [],
    },
  );
  return { storyChoices: chosen.storyChoices, problems, unused };
}

/** Adds what a route needs; unlike the fields of a story, all that it says must be usable. */
function resolveRoute(
  resolved: Resolved,
  { agent: wanted, model, effort }: Route,
  { place, isOwners, choosing }: { place: string; isOwners: boolean; choosing: Choosing },
): void {
  const { config, problems } = resolved;
  if (wanted !== undefined && !choosing.agents.includes(wanted)) {
    problems.push(`${place}: there is no agent ${quote(wanted)}${didYouMean(wanted, choosing.agents)}`);
    return;
  }
  const agent = wanted === config.agent ? undefined : wanted;
  addAgent(resolved, agent, choosing);
  const { api, baseUrl } = withChoice(resolved.config, defined({ agent })).model;
  if (model !== undefined && (api === undefined || isForeignModel(model, { api, baseUrl })))
    problems.push(`${place}: the agent ${agent ?? config.agent} cannot use a model ${quote(model)}`);
  else addChoice(resolved, { choice: defined({ agent, model, effort }), place, isOwners }, choosing);
}

/** What a story chooses, if that is of use. */
function resolveStory(
  resolved: Resolved,
  { id, extra }: Pick<Story, 'id' | 'extra'>,
  choosing: Choosing,
): AgentChoice | undefined {
  const { agent: wanted, model: wantedModel, effort: wantedEffort } = choiceFieldsOf({ extra });
  const place = `story ${safeLine(id, 100)}`;
  const unused = (what: string, end = '.') =>
    resolved.unused.push(`${place}: ${what}, so the field is only text for the agent${end}`);
  const isAgent = wanted !== undefined && choosing.agents.includes(wanted);
  if (wanted !== undefined && !isAgent)
    unused(`there is no agent ${quote(wanted)}`, closeSentence(wanted, choosing.agents));
  const agent = isAgent && wanted !== resolved.config.agent ? wanted : undefined;
  if (agent !== undefined && !choosing.isAllowed.agent(agent)) {
    resolved.problems.push(`${place}: ${refusal('agent', agent)}`);
    return undefined;
  }
  addAgent(resolved, agent, choosing);
  const base = withChoice(resolved.config, defined({ agent }));
  const model = wantedModel !== undefined && choosing.isKnown(wantedModel, base) ? wantedModel : undefined;
  if (wantedModel !== undefined && model === undefined)
    unused(`the agent ${base.agent} cannot use a model ${quote(wantedModel)}`);
  const named = EFFORTS.find((each) => each === wantedEffort);
  const effort = effortsOf(base.agent, base.model.api).find((each) => each === named);
  if (named !== undefined && effort === undefined)
    unused(`the agent ${base.agent} cannot request the effort "${named}"`);
  const choice: AgentChoice = defined({ agent, model, effort });
  return Object.keys(choice).length === 0 ? undefined : choice;
}

/** Adds the settings of an agent, once. */
function addAgent(resolved: Resolved, agent: string | undefined, { withAgent }: Choosing): void {
  const { config } = resolved;
  if (agent === undefined || agent === config.agent || Object.hasOwn(config.otherAgents, agent)) return;
  const { agentCommand, agentAnswer, agentOptions, model, prices, rate } = withAgent(agent);
  const settings: AgentSettings = { agentCommand, agentAnswer, agentOptions, model };
  resolved.config = {
    ...config,
    otherAgents: { ...config.otherAgents, [agent]: settings },
    prices: { ...config.prices, ...prices },
    rate: { ...config.rate, ...rate },
  };
}

/** Adds what the model of a choice needs, and what is wrong with the choice. */
function addChoice(
  resolved: Resolved,
  { choice, place, isOwners = false }: { choice: AgentChoice; place: string; isOwners?: boolean },
  { withModel, isAllowed, conflictsOf }: Choosing,
): void {
  const { agent, model } = choice;
  if (model !== undefined) resolved.config = withModel(resolved.config, model);
  const chosen = withChoice(resolved.config, choice);
  const { api, name } = chosen.model;
  const isChosen = (agent ?? model) !== undefined && api !== undefined;
  if (isChosen && !isOwners && !isAllowed.model(name)) resolved.problems.push(`${place}: ${refusal('model', name)}`);
  for (const problem of conflictsOf(chosen)) resolved.problems.push(`${place} chooses ${chosen.agent}: ${problem}`);
}

function quote(text: string): string {
  return JSON.stringify(safeLine(text, 60));
}
