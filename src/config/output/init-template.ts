import { registriesOf } from '../../core/command-needs.ts';
import type { Guess } from './guess/guess.ts';
import { CONFIG_KEYS } from '../keys.ts';
import { isForbiddenInRepository } from '../trust/trust.ts';

/** Settings by key, for a new configuration. */
type ChosenSettings = ReadonlyMap<string, unknown>;

/**
 * Renders the commented `halo.toml` for `halo init`, with the values guessed from the repository and those that were
 * chosen.
 */
export function renderInitTemplate(guess: Required<Guess>, chosen: ChosenSettings = new Map()): string {
  const tables = [...chosen.keys()].flatMap((key) => (key.includes('.') ? [key.slice(0, key.lastIndexOf('.'))] : []));
  return [
    '# Configuration of halo for this repository. `halo config show` prints every value and its origin.',
    '',
    ...about('agent'),
    `agent = ${JSON.stringify(chosen.get('agent') ?? CONFIG_KEYS.get('agent')?.default)}`,
    ...(chosen.has('agents.command.run') ? [] : OWN_SCRIPT),
    '',
    ...about('setup'),
    ...renderSetup(guess),
    '',
    ...about('gates'),
    ...renderGates(guess),
    '',
    ...about('image'),
    `# image = ${preset('image')}`,
    '',
    ...renderEnv(guess),
    ...[...new Set([...TABLES, ...tables])].flatMap((table) => renderTable(table, guess, chosen)),
  ].join('\n');
}

/** The tables in a new file; docs/configuration.md lists all of them. */
const TABLES = ['network', 'limits', 'run', 'retry', 'land', 'git'];

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

function renderEnv({ env, keeps }: Required<Guess>): string[] {
  const lines = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  if (lines.length === 0) return [];
  const where = keeps.length === 0 ? '' : ` (${keeps.join(', ')}, which git must ignore)`;
  const why = `Keep downloads of setup in the workspace, where the gates find them${where}.`;
  return ['[env]', `# ${why}`, ...lines, ''];
}

function renderTable(table: string, guess: Required<Guess>, chosen: ChosenSettings): string[] {
  // Keys without a default have no value to uncomment; rarely used nested keys are only in the docs.
  const isCommon = (name: string) => CONFIG_KEYS.get(name)?.default !== undefined && name.split('.').length === 2;
  const keys = [...CONFIG_KEYS.keys()].filter(
    (name) =>
      name.slice(0, name.lastIndexOf('.')) === table &&
      !isForbiddenInRepository(name) &&
      (chosen.has(name) || isCommon(name)),
  );
  const lines = keys.flatMap((key) => [
    ...about(key),
    chosen.has(key) ? assign(key, chosen.get(key)) : renderKey(key, guess),
  ]);
  return [`[${table}]`, ...lines, ''];
}

/** JSON strings, numbers and lists of them are valid TOML. */
function assign(key: string, value: unknown): string {
  return `${key.slice(key.lastIndexOf('.') + 1)} = ${JSON.stringify(value)}`;
}

function renderKey(key: string, { setup, hosts }: Required<Guess>): string {
  const name = key.slice(key.lastIndexOf('.') + 1);
  const registries = key === 'network.registries' ? registriesOf(setup) : [];
  const guessed = key === 'network.allow' ? hosts : registries;
  if (guessed.length > 0) return `${name} = ${renderList(guessed)}`;
  return `# ${name} = ${key === 'network.allow' ? '["packages.example.com:443"]' : preset(key)}`;
}

/** Converts the Markdown description of a key to comment lines. */
function about(key: string): string[] {
  const meaning = CONFIG_KEYS.get(key)?.meaning ?? '';
  const text = meaning.replaceAll('`', '').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  return [...text.matchAll(/\S.{0,97}(?=\s|$)/g)].map(([line]) => `# ${line}`);
}

function preset(key: string): string {
  return JSON.stringify(CONFIG_KEYS.get(key)?.default);
}

function renderList(commands: readonly string[]): string {
  return `[${commands.map((command) => JSON.stringify(command)).join(', ')}]`;
}
