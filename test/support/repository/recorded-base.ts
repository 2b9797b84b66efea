import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeAfterTests, tempDir } from '../temp-dir.ts';

/** Settings of a commit after which git starts nothing and waits for no disk. */
export const CHEAP = ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'core.fsync=none'];

/** By their keys, for the tests of a file. */
const bases = new Map<string, string>();

/** Copies a folder with repositories to `dir`. It is made with `make` once for the tests of a file: git takes 50 ms, a copy 2. */
export function copyBase(dir: string, key: string, make: (base: string) => void): void {
  let base = bases.get(key);
  if (base === undefined) make((base = openBase(key)));
  copyFolder(base, dir);
}

/** The same for one that takes several steps. */
export async function copyBaseAsync(dir: string, key: string, make: (base: string) => Promise<void>): Promise<void> {
  let base = bases.get(key);
  if (base === undefined) await make((base = openBase(key)));
  copyFolder(base, dir);
}

function openBase(key: string): string {
  if (bases.size === 0) removeAfterTests(() => bases.clear());
  const base = tempDir();
  bases.set(key, base);
  return base;
}

function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** The commit that a checkout has. */
export function headOf(root: string): string {
  const head = readFileSync(join(root, '.git/HEAD'), 'utf8').trim();
  return head.startsWith('ref: ') ? readFileSync(join(root, '.git', head.slice('ref: '.length)), 'utf8').trim() : head;
}
