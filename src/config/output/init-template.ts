import { registriesOf } from '../../core/command-needs.ts';
import type { Guess } from '../guess/repository.ts';
import { CONFIG_KEYS } from '../keys.ts';
import { isOwnChoice } from '../own-choices.ts';

/** The commented `halo.toml` that `halo init` writes, with what was guessed from the repository. */
export function renderTemplate(guess: Required<Guess>): string {
  return [
    '# How halo works on this repository. `halo config show` prints every value and who set it.',
    '',
    ...about('agent'),
    `agent = ${preset('agent')}`,
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
    ...TABLES.flatMap((table) => renderTable(table, guess)),
  ].join('\n');
}

/** Tables that are worth showing in a new file; docs/configuration.md has the rest. */
const TABLES = ['network', 'limits', 'run', 'retry', 'land', 'git'];

function renderSetup({ setup }: Guess): string[] {
  return setup.length === 0 ? ['# setup = ["npm ci"]'] : [`setup = ${renderList(setup)}`];
}

function renderGates({ gates, reasons }: Guess): string[] {
  if (gates.length === 0) {
    return [
      '# Nothing was recognised, so name at least one: halo refuses to start without gates.',
      '# gates = ["npm test"]',
    ];
  }
  return [...reasons.map((reason) => `# guessed: ${reason}`), `gates = ${renderList(gates)}`];
}

function renderEnv({ env, keeps }: Required<Guess>): string[] {
  const lines = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  if (lines.length === 0) return [];
  const where = keeps.length === 0 ? '' : ` (${keeps.join(', ')}, which git must ignore)`;
  const why = `What setup downloads stays in the workspace, where the gates find it${where}.`;
  return ['[env]', `# ${why}`, ...lines, ''];
}

function renderTable(table: string, guess: Required<Guess>): string[] {
  // A key without a default has no line that could just be switched on, and some are not the repository's to choose.
  const keys = [...CONFIG_KEYS.values()]
    .filter((key) => key.default !== undefined && !isOwnChoice(key.name))
    // What only few want to change is in the docs.
    .filter(({ name }) => name.startsWith(`${table}.`) && name.split('.').length === 2)
    .map(({ name }) => name);
  const lines = keys.flatMap((key) => [...about(key), renderKey(key, guess)]);
  return [`[${table}]`, ...lines, ''];
}

function renderKey(key: string, { setup, hosts }: Required<Guess>): string {
  const name = key.slice(key.lastIndexOf('.') + 1);
  const registries = key === 'network.registries' ? registriesOf(setup) : [];
  const guessed = key === 'network.allow' ? hosts : registries;
  if (guessed.length > 0) return `${name} = ${renderList(guessed)}`;
  return `# ${name} = ${key === 'network.allow' ? '["packages.example.com:443"]' : preset(key)}`;
}

/** The meaning as comment lines; it is Markdown, for the reference. */
function about(key: string): string[] {
  const meaning = CONFIG_KEYS.get(key)?.meaning ?? '';
  const text = meaning.replaceAll('`', '').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  return [...text.matchAll(/\S.{0,97}(?=\s|$)/g)].map(([line]) => `# ${line}`);
}

/** JSON strings, numbers and lists of them are TOML too. */
function preset(key: string): string {
  return JSON.stringify(CONFIG_KEYS.get(key)?.default);
}

function renderList(commands: readonly string[]): string {
  return `[${commands.map((command) => JSON.stringify(command)).join(', ')}]`;
}
