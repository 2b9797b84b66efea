import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with halo's package.json. This module and the file that it is bundled into are both two folders below it. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The version of halo, from its package.json. */
export function haloVersion(): string {
  const text = readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Whether a dotted version precedes another, e.g. `1.1.5+ds1` and `1.2.8`; suffixes after the numbers are ignored.
 * Own code instead of the package semver, because versions of engines and programs are not semantic versions.
 */
export function isOlderVersion(version: string, than: string): boolean {
  const [a, b] = [versionNumbers(version), versionNumbers(than)];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function versionNumbers(version: string): number[] {
  return (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '0').split('.').map(Number);
}
