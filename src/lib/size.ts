const UNITS = ['b', 'k', 'm', 'g', 't'];

/** Bytes of a size such as `512m`, `4g`, `1.5GiB` or `100b`, in powers of 1024; undefined when it is not one. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?:(b)|([kmgt])(?:i?b)?)$/.exec(text.trim().toLowerCase());
  if (match === null) return undefined;
  const bytes = Number(match[1]) * 1024 ** UNITS.indexOf(match[2] ?? match[3] ?? 'b');
  return Number.isSafeInteger(Math.round(bytes)) ? Math.round(bytes) : undefined;
}

/** A number of bytes as people write it: `4g`, `1.5m`, `100b`. */
export function formatSize(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10}${UNITS[power] ?? 'b'}`;
}
