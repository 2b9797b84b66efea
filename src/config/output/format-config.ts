import { stringify } from 'smol-toml';
import { HaloError } from '../../core/failure/errors.ts';
import { clip } from '../../core/safe-text.ts';
import { describeUnknownKey, OPEN_TABLES } from '../keys.ts';
import { DEFAULT_ORIGIN } from '../resolve.ts';
import type { Setting } from '../settings.ts';

/** Which settings are shown: of one key or table, and only those that somebody has set. */
export interface ShownSettings {
  name?: string | undefined;
  changed?: boolean | undefined;
}

/** The settings that are asked for. Throws USAGE for a name that no key or table has. */
export function pickSettings(settings: readonly Setting[], { name, changed }: ShownSettings): Setting[] {
  const named = settings.filter(({ key }) => name === undefined || key === name || key.startsWith(`${name}.`));
  if (name !== undefined && named.length === 0 && !OPEN_TABLES.includes(name))
    throw new HaloError('USAGE', `${name}: ${describeUnknownKey(name)}`, {
      hint: '`halo config show` lists every key.',
    });
  return changed === true ? named.filter(({ origin }) => origin !== DEFAULT_ORIGIN) : named;
}

/** Settings as people read them: each key, its value in TOML and who set it, in aligned columns. */
export function showConfig(settings: readonly Setting[]): string {
  if (settings.length === 0) return '';
  const most = settings.length === 1 ? Infinity : LONGEST;
  const rows = settings.map(({ key, value, origin }) => [key, clip(showValue(value), most), origin] as const);
  const keyWidth = Math.max(...rows.map(([key]) => key.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length).filter((length) => length <= WIDEST), 0);
  return rows
    .map(([key, value, origin]) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}

/** The same for machines; a key that is not set has the value null. */
export function showConfigJson(settings: readonly Setting[]): Record<string, { value: unknown; origin: string }> {
  return Object.fromEntries(settings.map(({ key, value, origin }) => [key, { value: value ?? null, origin }]));
}

/** A longer value pushes only its own origin aside. */
const WIDEST = 48;
/** Of several, each is cut to what fits a line or two; one alone is shown whole. */
const LONGEST = 160;

function showValue(value: unknown): string {
  if (value === undefined) return '(not set)';
  return stringify({ value })
    .replace(/^value = /, '')
    .trim();
}
