import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const removals: (() => void)[] = [];

/** A new temporary folder, removed after the tests of the file. */
export function tempDir(name = 'halo test'): string {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  removeAfterTests(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Calls `remove` after the tests of the file, and after its own hooks; without tests, at the end of the process. */
export function removeAfterTests(remove: () => void): void {
  if (!process.listeners('exit').includes(removeTemporary)) process.once('exit', removeTemporary);
  removals.push(remove);
}

/** Removes what the tests of a file left; see test/support/suite/file-setup.ts. */
export function removeTemporary(): void {
  removals.splice(0).forEach((remove) => remove());
}
