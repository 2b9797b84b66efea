/** Whether one dotted version comes before another, e.g. `1.1.5+ds1` before `1.2.8`; what follows the numbers is ignored. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [numbers(version), numbers(than)];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function numbers(version: string): number[] {
  return (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '0').split('.').map(Number);
}
