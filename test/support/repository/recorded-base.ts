import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeAfterTests, tempDir } from '../temp-dir.ts';

/** Settings of a commit after which git starts nothing and waits for no disk. */
export const CHEAP = ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'core.fsync=none'];

const bases = new Map<string, string>();

/** Copies a repository to `dir`. It is made with `make` once for the tests of a file: git takes 50 ms, a copy 2. */
export function copyBase(dir: string, key: string, make: (base: string) => void): void {
  mkdirSync(dir, { recursive: true });
  let base = bases.get(key);
  if (base === undefined) {
    base = tempDir();
    make(base);
    if (bases.size === 0) removeAfterTests(() => bases.clear());
    bases.set(key, base);
  }
  cpSync(base, dir, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** The commit that a checkout has. */
export function headOf(root: string): string {
  const head = readFileSync(join(root, '.git/HEAD'), 'utf8').trim();
  return head.startsWith('ref: ') ? readFileSync(join(root, '.git', head.slice('ref: '.length)), 'utf8').trim() : head;
}
