import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HaloError } from '../core/errors.ts';
import type { World } from './world.ts';

/** The PRD file's path and bytes; `-` is stdin. Throws PRD_UNREADABLE. */
export async function readPrd(file: string, world: World): Promise<{ path: string; bytes: Uint8Array }> {
  if (file === '-') return { path: '-', bytes: await readAll(world.stdin) };
  const path = resolve(world.cwd, file);
  try {
    return { path, bytes: new Uint8Array(await readFile(path)) };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new HaloError('PRD_UNREADABLE', `There is no file ${path}.`, {
        hint: 'Name the PRD file, e.g. `halo run prd.json`.',
        cause,
      });
    const why = code === 'EISDIR' ? 'it is a folder' : code === 'EACCES' ? 'permission denied' : (code ?? 'no reason');
    throw new HaloError('PRD_UNREADABLE', `The PRD ${path} cannot be read: ${why}.`, {
      hint: 'Name a PRD file that you may read.',
      cause,
    });
  }
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
