import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';

/** Files below a folder that contain a text. */
export function filesWith(dir: string, text: string): Promise<string[]> {
  // What the attempt worked in is removed in the background, and may vanish while it is read.
  return vi.waitFor(() => findFiles(dir, Buffer.from(text)), { timeout: 120_000 });
}

async function findFiles(dir: string, text: Buffer): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const hits: string[] = [];
  for (const entry of entries.filter((entry) => entry.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if (await contains(path, text)) hits.push(path);
  }
  return hits;
}

/** In pieces: no buffer holds what an agent may print. */
async function contains(path: string, text: Buffer): Promise<boolean> {
  let end = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const piece = Buffer.concat([end, chunk as Buffer]);
    if (piece.includes(text)) return true;
    end = piece.subarray(Math.max(0, piece.length - text.length + 1));
  }
  return false;
}
