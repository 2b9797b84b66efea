const UNITS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds of a duration such as `45m`, `30s`, `1h30m` or `250ms`; undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(text.trim());
  if (match === null || text.trim() === '') return undefined;
  const factors = Object.values(UNITS);
  const ms = match.slice(1).reduce((sum, digits, index) => sum + Number(digits ?? 0) * (factors[index] ?? 0), 0);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** A duration in ms as people write it, with its two largest units: `1h30m`, `45s`, `250ms`. */
export function formatDuration(ms: number): string {
  let rest = Math.round(ms);
  if (rest >= 1000) rest = Math.round(rest / 1000) * 1000;
  const parts: string[] = [];
  for (const [unit, factor] of Object.entries(UNITS)) {
    const count = Math.floor(rest / factor);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * factor;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0s' : parts.join('');
}
