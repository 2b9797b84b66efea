import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];

// Registered on import, so that the file's own hooks run before it.
afterAll(() => folders.splice(0).forEach((dir) => rmSync(dir, { recursive: true, force: true })));

/** A new temporary folder, removed after the tests of the file. */
export function tempDir(name = 'halo test'): string {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  folders.push(dir);
  return dir;
}
