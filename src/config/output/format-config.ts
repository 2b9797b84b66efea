import { stringify } from 'smol-toml';
import { HaloError } from '../../core/failure/errors.ts';
import { truncate } from '../../core/text/safe-text.ts';
import { describeUnknownKey, OPEN_TABLES } from '../keys.ts';
import { DEFAULT_ORIGIN, type Setting } from '../settings.ts';

/** Selects the settings of one key or table, and optionally only those that differ from the default. */
interface SettingFilter {
  name?: string | undefined;
  changed?: boolean | undefined;
}

/** Returns the selected settings. Throws USAGE for an unknown key or table. */
export function filterSettings(settings: readonly Setting[], { name, changed }: SettingFilter): Setting[] {
  const named = settings.filter(({ key }) => name === undefined || key === name || key.startsWith(`${name}.`));
  if (name !== undefined && named.length === 0 && !OPEN_TABLES.includes(name))
    throw new HaloError('USAGE', `${name}: ${describeUnknownKey(name)}`, {
      hint: 'Run `halo config show` to list all keys.',
    });
  return changed === true ? named.filter(({ origin }) => origin !== DEFAULT_ORIGIN) : named;
}

/** Formats settings in aligned columns: key, value in TOML, origin. */
export function formatConfig(settings: readonly Setting[]): string {
  if (settings.length === 0) return '';
  const maxLength = settings.length === 1 ? Infinity : MAX_VALUE_LENGTH;
  const rows = settings.map(({ key, value, origin }) => [key, truncate(showValue(value), maxLength), origin] as const);
  const keyWidth = Math.max(...rows.map(([key]) => key.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length).filter((length) => length <= WIDEST), 0);
  return rows
    .map(([key, value, origin]) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}

/** Formats settings for JSON; an unset key has the value null. */
export function formatConfigJson(settings: readonly Setting[]): Record<string, { value: unknown; origin: string }> {
  return Object.fromEntries(settings.map(({ key, value, origin }) => [key, { value: value ?? null, origin }]));
}

/** Column width of values; the origin of a longer value is not aligned. */
const WIDEST = 56;
/** Values are truncated to this length, unless only one setting is shown. */
const MAX_VALUE_LENGTH = 160;

function showValue(value: unknown): string {
  if (value === undefined) return '(not set)';
  return stringify({ value })
    .replace(/^value = /, '')
    .trim();
}
