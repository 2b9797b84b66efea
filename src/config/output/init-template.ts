import { registriesOf } from '../../core/command-needs.ts';
import type { Guess, GuessedSetting, GuessedSettings } from './guess/guess.ts';
import { CONFIG_KEYS } from '../keys.ts';
import { isForbiddenInRepository } from '../trust/trust.ts';

/** Settings by key, for a new configuration. */
type ChosenSettings = ReadonlyMap<string, unknown>;

/**
 * Renders `halo.toml` for `halo init`, with the values guessed from the repository and those that were chosen: only what is
 * specific to the repository, because the reference describes all settings.
 */
export function renderInitTemplate(
  guess: Required<Guess>,
  chosen: ChosenSettings = new Map(),
  more: Pick<GuessedSettings, 'settings' | 'env' | 'envFrom'> = { settings: [], env: {}, envFrom: [] },
): string {
  return [
    '# How halo works in this repository. All settings, with their defaults: docs/configuration.md of halo, or',
    '# `halo config show`.',
    '',
    `agent = ${JSON.stringify(chosen.get('agent') ?? CONFIG_KEYS.get('agent')?.default)}`,
    ...(chosen.has('agents.command.run') ? [] : OWN_SCRIPT),
    '',
    '# Installs dependencies, with a network; gates and agent have none.',
    ...renderSetup(guess),
    '# Commands that must all exit 0 before a story lands.',
    ...renderGates(guess),
    `# image = ${JSON.stringify(CONFIG_KEYS.get('image')?.default)}`,
    ...more.settings.filter(({ value }) => typeof value === 'string').flatMap(renderGuessed),
    '',
    ...renderEnv(guess, more),
    ...renderTables(guess, chosen),
    ...more.settings.filter(({ value }) => typeof value !== 'string').flatMap(renderGuessed),
  ].join('\n');
}

/** Only a comment: a table here would include the settings below it. */
const OWN_SCRIPT = [
  '# A script of your own instead: agent = "command" and, at the end of this file,',
  '# [agents.command], run = "./tools/agent.sh"',
];

function renderSetup({ setup }: Guess): string[] {
  return setup.length === 0 ? ['# setup = ["npm ci"]'] : [`setup = ${renderList(setup)}`];
}

function renderGates({ gates, reasons }: Guess): string[] {
  if (gates.length === 0) {
    return [
      ...reasons.map((reason) => `# detected: ${reason}`),
      '# No gates were detected. Add at least one: halo does not start without gates.',
      '# gates = ["npm test"]',
    ];
  }
  return [...reasons.map((reason) => `# detected: ${reason}`), `gates = ${renderList(gates)}`];
}

function renderEnv(
  { env, keeps }: Required<Guess>,
  { env: other, envFrom }: Pick<GuessedSettings, 'env' | 'envFrom'>,
): string[] {
  const linesOf = (variables: Record<string, string>) =>
    Object.entries(variables).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const own = linesOf(env);
  const found = linesOf(Object.fromEntries(Object.entries(other).filter(([name]) => !Object.hasOwn(env, name))));
  if (own.length + found.length === 0) return [];
  const where = keeps.length === 0 ? '' : ` (${keeps.join(', ')}, which git must ignore)`;
  const why = `# Keep downloads of setup in the workspace, where the gates find them${where}.`;
  return [
    '[env]',
    ...(own.length === 0 ? [] : [why, ...own]),
    ...(found.length === 0 ? [] : [`# detected: ${envFrom.join(', ')}`, ...found]),
    '',
  ];
}

/** A table or a key with its reason; a hint is a comment, which only the # of its lines keep from counting. */
function renderGuessed({ name, value, why, isHint, maybe }: GuessedSetting): string[] {
  if (typeof value === 'string') return [`# detected: ${why}`, `${name} = ${JSON.stringify(value)}`];
  const assigned = (members: Record<string, unknown>) =>
    Object.entries(members).map(([key, member]) => `${key} = ${renderValue(member)}`);
  const lines = [`[${name}]`, ...assigned(value)];
  if (maybe !== undefined) lines.push(`# ${maybe.why}:`, ...assigned(maybe.value).map((line) => `# ${line}`));
  return isHint === true
    ? [`# detected: ${why}. If the tests need it, remove the # here:`, ...lines.map((line) => `# ${line}`), '']
    : [`# detected: ${why}`, ...lines, ''];
}

function renderValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderValue).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, member]) => `${key} = ${renderValue(member)}`)
    .join(', ')} }`;
}

/** The tables with values, and the one that opens the network of setup. */
function renderTables(guess: Required<Guess>, chosen: ChosenSettings): string[] {
  const values = new Map<string, unknown>([...networkOf(guess), ...chosen]);
  const tableOf = (key: string) => key.slice(0, key.lastIndexOf('.'));
  const keys = [...values.keys()].filter((key) => key.includes('.') && !isForbiddenInRepository(key));
  return [...new Set(keys.map(tableOf))].flatMap((table) => [
    `[${table}]`,
    ...keys.filter((key) => tableOf(key) === table).map((key) => assign(key, values.get(key))),
    '',
  ]);
}

function networkOf({ setup, hosts }: Required<Guess>): [key: string, value: string[]][] {
  const found: [string, string[]][] = [
    ['network.registries', registriesOf(setup)],
    ['network.allow', hosts],
  ];
  return found.filter(([, values]) => values.length > 0);
}

/** JSON strings, numbers and lists of them are valid TOML. */
function assign(key: string, value: unknown): string {
  const text = Array.isArray(value) ? renderList(value as string[]) : JSON.stringify(value);
  return `${key.slice(key.lastIndexOf('.') + 1)} = ${text}`;
}

function renderList(commands: readonly string[]): string {
  return `[${commands.map((command) => JSON.stringify(command)).join(', ')}]`;
}
