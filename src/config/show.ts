import { stringify } from 'smol-toml';
import type { ResolvedConfig } from './resolve.ts';

/** The configuration as people read it: each key, its value in TOML and who set it, in aligned columns. */
export function showConfig({ settings }: ResolvedConfig): string {
  const rows = settings.map(({ key, value, origin }) => [key, showValue(value), origin] as const);
  const keyWidth = Math.max(...rows.map(([key]) => key.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length).filter((length) => length <= WIDEST), 0);
  return rows
    .map(([key, value, origin]) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}

/** The same for machines; a key that is not set has the value null. */
export function showConfigJson({ settings }: ResolvedConfig): Record<string, { value: unknown; origin: string }> {
  return Object.fromEntries(settings.map(({ key, value, origin }) => [key, { value: value ?? null, origin }]));
}

/** A longer value pushes only its own origin aside. */
const WIDEST = 48;

function showValue(value: unknown): string {
  if (value === undefined) return '(not set)';
  return stringify({ value })
    .replace(/^value = /, '')
    .trim();
}
