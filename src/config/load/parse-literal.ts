import { parse as parseToml } from 'smol-toml';

/**
 * A value given on the command line or in the environment: TOML, or a bare word as a string.
 * `asText`: the key takes strings, so that anything but a TOML string is taken as it stands, unless it is in quotes.
 * Returns undefined for a list, table or string in TOML that is not complete.
 */
export function parseLiteral(text: string, asText: boolean): unknown {
  const value = parseToValue(text);
  if (asText && typeof value === 'string') return value;
  if (asText) return value === undefined && QUOTED.test(text) ? undefined : text;
  if (value !== undefined) return value;
  return /^\s*["'[{]/.test(text) ? undefined : text;
}

/** Meant as a TOML string, but broken inside: taken as it stands, its quotes would become part of the value. */
const QUOTED = /^\s*(["']).*\1\s*$/s;

function parseToValue(text: string): unknown {
  try {
    const table = parseToml(`value = ${text}`);
    return Object.keys(table).length === 1 ? table.value : undefined;
  } catch {
    return undefined;
  }
}
