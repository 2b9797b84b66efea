/** Formats milliseconds for display: `0.4s`, `12.3s`, `2m 05s`, `1h 02m`, `3d 05h` from two days on. Negative values count as 0. */
export function formatElapsed(ms: number): string {
  const tenths = Math.max(0, Math.round(ms / 100));
  if (tenths < 600) return `${(tenths / 10).toFixed(1)}s`;
  const seconds = Math.floor(tenths / 10);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${two(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

/** Milliseconds from one ISO 8601 time to another; 0 if either is invalid. */
export function msBetween(from: string, to: string): number {
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isFinite(ms) ? ms : 0;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
