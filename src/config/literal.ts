import { parse as parseToml } from 'smol-toml';

/**
 * A value given on the command line or in the environment: TOML, or a bare word as a string.
 * `asText`: the key takes strings, so that anything but a TOML string is taken as it stands.
 * Returns undefined for a list, table or string in TOML that is not complete.
 */
export function parseLiteral(text: string, asText: boolean): unknown {
  const value = parseToValue(text);
  if (asText) return typeof value === 'string' ? value : text;
  if (value !== undefined) return value;
  return /^\s*["'[{]/.test(text) ? undefined : text;
}

function parseToValue(text: string): unknown {
  try {
    const table = parseToml(`value = ${text}`);
    return Object.keys(table).length === 1 ? table.value : undefined;
  } catch {
    return undefined;
  }
}
