import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import { readRegularFile, readStream } from '../../lib/read-file.ts';
import type { Cli } from '../cli.ts';
import { findNamedPrd } from './named-prds.ts';
import { findRepository } from './resolve-run.ts';
import type { World } from '../process-io.ts';

/** Where relative paths start, and what `-` is. */
type Input = Pick<World, 'stdin' | 'cwd'>;

/** More than any PRD may have, whose own limit has words of its own. */
const MOST_BYTES = 8 * 1024 * 1024;

interface InputFile {
  path: string;
  bytes: Uint8Array;
}

/** The PRD's path and bytes; `-` is stdin, and a name is a PRD of this project. Throws PRD_UNREADABLE and USAGE. */
export async function readPrd(file: string, world: Input): Promise<InputFile> {
  const hint = 'Name the PRD file, e.g. `halo run prd.json`, or a PRD of `halo prd list`.';
  const named = file === '-' ? undefined : await findByName(file, world.cwd);
  return readInput(named ?? file, { what: 'PRD', hint }, world);
}

/** The path of the PRD that a repository has in a usual place, which is named on stderr. Throws PRD_UNREADABLE. */
export async function findUsualPrd(repo: string, cli: Cli): Promise<string> {
  const here = repo === cli.cwd ? await findRepository(cli.cwd) : repo;
  const hint = 'Name the PRD, e.g. `halo run tasks.md`, or write one: `halo prd new <name>`.';
  const path = await cli.services.discoverPrd({ repo: here, hint });
  await cli.note(cli.paintErr('quiet', `PRD ${safeLine(path)}`));
  return path;
}

/** A document that is to become a PRD; `-` is stdin. Throws PRD_UNREADABLE. */
export async function readDocument(file: string, world: Input): Promise<InputFile> {
  return readInput(file, { what: 'document', hint: 'Name a text file, e.g. `halo import idea.md`.' }, world);
}

async function readInput(file: string, { what, hint }: { what: string; hint: string }, world: Input) {
  if (file === '')
    throw new HaloError('USAGE', `The ${what} has an empty name.`, { hint: 'Is a variable of your script not set?' });
  const path = file === '-' ? file : resolve(world.cwd, file);
  try {
    if (file === '-') return await readPipe(world.stdin);
    // `<(command)` of a shell, or /dev/stdin: no file that could be read again, or written.
    if ((await stat(path)).isFIFO()) return await readPipe(createReadStream(path));
    return { path, bytes: new Uint8Array(await readRegularFile(path, MOST_BYTES)) };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new HaloError('PRD_UNREADABLE', `There is no file ${path}.`, { hint, cause });
    throw new HaloError(
      'PRD_UNREADABLE',
      `The ${what} ${path} cannot be read: ${code === undefined ? message : (REASONS[code] ?? code)}.`,
      {
        hint: `Name a ${what} that you may read.`,
        cause,
      },
    );
  }
}

const REASONS: Record<string, string> = {
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
};

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

async function readPipe(stream: AsyncIterable<Uint8Array>): Promise<InputFile> {
  return { path: '-', bytes: new Uint8Array(await readStream(stream, MOST_BYTES)) };
}
