import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HaloError } from '../core/errors.ts';
import { findNamedPrd } from './named-prds.ts';
import type { World } from './world.ts';

/** The PRD's path and bytes; `-` is stdin, and a name is a PRD of this project. Throws PRD_UNREADABLE and USAGE. */
export async function readPrd(file: string, world: World): Promise<{ path: string; bytes: Uint8Array }> {
  if (file === '-') return { path: '-', bytes: await readAll(world.stdin) };
  const path = (await findByName(file, world.cwd)) ?? resolve(world.cwd, file);
  try {
    return { path, bytes: new Uint8Array(await readFile(path)) };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new HaloError('PRD_UNREADABLE', `There is no file ${path}.`, {
        hint: 'Name the PRD file, e.g. `halo run prd.json`, or a PRD of `halo prd list`.',
        cause,
      });
    const why = code === 'EISDIR' ? 'it is a folder' : code === 'EACCES' ? 'permission denied' : (code ?? 'no reason');
    throw new HaloError('PRD_UNREADABLE', `The PRD ${path} cannot be read: ${why}.`, {
      hint: 'Name a PRD file that you may read.',
      cause,
    });
  }
}

async function findByName(word: string, cwd: string): Promise<string | undefined> {
  const named = await findNamedPrd(cwd, word);
  if (named === undefined) return undefined;
  const isFile = await stat(resolve(cwd, word)).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) return named;
  throw new HaloError('USAGE', `${word} is a file here and the name of a PRD.`, {
    hint: `Say ./${word} for the file, or ${named} for the PRD.`,
  });
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
