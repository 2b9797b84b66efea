import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';

/** Files below a folder that contain a text. */
export function filesWith(dir: string, text: string): Promise<string[]> {
  // What the attempt worked in is removed in the background, and may vanish while it is read.
  return vi.waitFor(() => findFiles(dir, text), { timeout: 10_000 });
}

async function findFiles(dir: string, text: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hits = await Promise.all(files.map(async (path) => ((await readFile(path)).includes(text) ? [path] : [])));
  return hits.flat();
}
