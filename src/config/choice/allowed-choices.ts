import { mergeSettings, type ConfigLayer } from '../config-layer.ts';
import type { Config, Settings } from '../config.ts';
import type { Route } from '../schema/choice-table.ts';
import type { Setting } from '../settings.ts';

type Lists = Settings['choice'];

/** Whether other people than the owner may choose an agent or a model. */
export interface Allowing {
  agent(name: string): boolean;
  model(name: string): boolean;
}

/** What `[choice]` allows; models that the owner's own settings name are always allowed. */
export function allowing({ agents, models }: Lists, layers: readonly ConfigLayer[]): Allowing {
  const own = mergeSettings(layers.filter(({ trusted }) => trusted));
  const named = [
    ...['model.name', 'model.fallback', 'model.allow'].flatMap((key) => own.get(key)?.value ?? []),
    ...routesOf(own.get('route')).flatMap(({ model }) => model ?? []),
  ];
  return {
    agent: (name) => agents?.includes(name) ?? true,
    model: (name) => named.includes(name) || (models?.some((each) => matches(name, each)) ?? true),
  };
}

/** What a run may choose among the agents and models that it has: its own, and those that `[choice]` allowed at its submit. */
export function allowingAgain({ choice: { agents, models }, model, route }: Config): Allowing {
  const named = [model.name, ...model.fallback, ...model.allow, ...route.map((each) => each.model)];
  return {
    agent: (name) => agents?.includes(name) ?? true,
    model: (name) => named.includes(name) || (models?.some((each) => matches(name, each)) ?? true),
  };
}

function routesOf(setting: Setting | undefined): readonly Route[] {
  return (setting?.value ?? []) as Route[];
}

function matches(name: string, entry: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

/** Lists the agents and models that a repository or a request chooses for a run, and that `[choice]` does not allow. */
export function findForeignChoices(
  layers: readonly ConfigLayer[],
  { settings, lists }: { settings: readonly Setting[]; lists: Lists },
): string[] {
  const may = allowing(lists, layers);
  const isForeign = foreignKeys(layers);
  const find = (key: string) => settings.find((setting) => setting.key === key);
  const refuse = (key: string, names: readonly unknown[], kind: keyof Allowing) =>
    names.flatMap((name) =>
      may[kind](String(name)) ? [] : [`${find(key)?.origin ?? ''}: ${key}: ${refusal(kind, String(name))}`],
    );
  const value = (key: string) => find(key)?.value;
  return [
    ...(isForeign('agent') ? refuse('agent', [value('agent')], 'agent') : []),
    ...(isForeign('agent') || isForeign('model.name') ? refuse('model.name', [value('model.name')], 'model') : []),
    ...['model.fallback', 'model.allow'].flatMap((key) =>
      isForeign(key) ? refuse(key, value(key) as string[], 'model') : [],
    ),
    ...(isForeign('fallback') ? refuse('fallback', value('fallback') as string[], 'agent') : []),
    ...(isForeign('route') ? routesOf(find('route')) : []).flatMap(({ agent = [], model = [] }) => [
      ...refuse('route', [agent].flat(), 'agent'),
      ...refuse('route', [model].flat(), 'model'),
    ]),
  ];
}

/** Whether a repository or a request, and not the owner, says what a key has. */
export function foreignKeys(layers: readonly ConfigLayer[]): (key: string) => boolean {
  const foreign = new Set(layers.flatMap((layer) => (layer.trusted ? [] : layer.settings)));
  const all = mergeSettings(layers);
  return (key) => [all.get(key)].some((setting) => setting !== undefined && foreign.has(setting));
}

/** Why a choice is refused, after its place. */
export function refusal(kind: keyof Allowing, name: string): string {
  return `the ${kind} ${JSON.stringify(name)} may not be chosen: choice.${kind}s in config.toml of HALO_HOME does not name it`;
}
