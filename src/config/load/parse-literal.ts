import { parse as parseToml } from 'smol-toml';

/**
 * Parses a value from the command line or the environment: TOML, or a bare word as a string.
 * `asText`: the key takes strings, so anything but a quoted TOML string is used literally.
 * Returns undefined for an incomplete TOML list, table or string.
 */
export function parseLiteral(text: string, asText: boolean): unknown {
  const value = parseToValue(text);
  if (asText && typeof value === 'string') return value;
  if (asText) return value === undefined && QUOTED.test(text) ? undefined : text;
  if (value !== undefined) return value;
  return /^\s*["'[{]/.test(text) ? undefined : text;
}

/** A quoted but malformed TOML string. Used literally, its quotes would become part of the value. */
const QUOTED = /^\s*(["']).*\1\s*$/s;

function parseToValue(text: string): unknown {
  try {
    const table = parseToml(`value = ${text}`);
    return Object.keys(table).length === 1 ? table.value : undefined;
  } catch {
    return undefined;
  }
}
