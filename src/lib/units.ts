const SIZE_UNITS = ['b', 'k', 'm', 'g', 't'];

/** Parses a size such as `512m`, `4g`, `1.5GiB` or `100b` (powers of 1024) into bytes; undefined if invalid. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?:(b)|([kmgt])(?:i?b)?)$/.exec(text.trim().toLowerCase());
  if (match === null) return undefined;
  const bytes = Number(match[1]) * 1024 ** SIZE_UNITS.indexOf(match[2] ?? match[3] ?? 'b');
  return Number.isSafeInteger(Math.round(bytes)) ? Math.round(bytes) : undefined;
}

/** Formats bytes in configuration syntax: `4g`, `1.5m`, `100b`. */
export function formatSize(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(SIZE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10}${SIZE_UNITS[power] ?? 'b'}`;
}

const DURATION_UNITS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Parses a duration such as `45m`, `30s`, `1h30m` or `250ms` into milliseconds; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(text.trim());
  if (match === null || text.trim() === '') return undefined;
  const factors = Object.values(DURATION_UNITS);
  const ms = match.slice(1).reduce((sum, digits, index) => sum + Number(digits ?? 0) * (factors[index] ?? 0), 0);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** Formats milliseconds in configuration syntax with the two largest units: `1h30m`, `45s`, `250ms`. */
export function formatConfigDuration(ms: number): string {
  let rest = Math.round(ms);
  if (rest >= 1000) rest = Math.round(rest / 1000) * 1000;
  const parts: string[] = [];
  for (const [unit, factor] of Object.entries(DURATION_UNITS)) {
    const count = Math.floor(rest / factor);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * factor;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0s' : parts.join('');
}
