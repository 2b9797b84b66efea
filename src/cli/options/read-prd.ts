import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { readRegularFile, readStream } from '../../lib/fs.ts';
import type { Cli } from '../cli.ts';
import { findNamedPrd } from './named-prds.ts';
import { resolveRepository } from './resolve-run.ts';
import type { ProcessIo } from '../process-io.ts';

/** The start of relative paths, and the input for `-`. */
type Input = Pick<ProcessIo, 'stdin' | 'cwd'>;

/** Higher than the limit for PRDs, whose check reports its own error. */
const MAX_BYTES = 8 * 1024 * 1024;

interface InputFile {
  path: string;
  bytes: Uint8Array;
}

/** The PRD's path and bytes; `-` is stdin, and a name is a PRD of this project. Throws PRD_UNREADABLE and USAGE. */
export async function readPrd(file: string, io: Input): Promise<InputFile> {
  const hint = 'Pass a PRD file, e.g. `halo run prd.json`, or a name from `halo prd list`.';
  const named = file === '-' ? undefined : await findByName(file, io.cwd);
  return readInput(named ?? file, { what: 'PRD', hint }, io);
}

/** The path of the PRD in a usual place of the repository; names it on stderr. Throws PRD_UNREADABLE. */
export async function resolveUsualPrd(repo: string, cli: Cli): Promise<string> {
  const here = repo === cli.cwd ? await resolveRepository(cli.cwd) : repo;
  const hint = 'Pass a PRD file, e.g. `halo run tasks.md`, or create a PRD with `halo prd new <name>`.';
  const path = await cli.services.discoverPrd({ repo: here, hint });
  await cli.note(cli.paintErr('quiet', `PRD ${safeLine(path)}`));
  return path;
}

/** A document to convert into a PRD; `-` is stdin. Throws PRD_UNREADABLE. */
export async function readDocument(file: string, io: Input): Promise<InputFile> {
  return readInput(file, { what: 'document', hint: 'Pass a text file, e.g. idea.md.' }, io);
}

async function readInput(file: string, { what, hint }: { what: string; hint: string }, io: Input) {
  if (file === '')
    throw new HaloError('USAGE', `The name of the ${what} is empty.`, { hint: 'Check for an empty shell variable.' });
  const path = file === '-' ? file : resolve(io.cwd, file);
  try {
    if (file === '-') return await readPipe(io.stdin);
    // `<(command)` of a shell, or /dev/stdin: it cannot be read again or written.
    if ((await stat(path)).isFIFO()) return await readPipe(createReadStream(path));
    return { path, bytes: new Uint8Array(await readRegularFile(path, MAX_BYTES)) };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new HaloError('PRD_UNREADABLE', `There is no file ${path}.`, { hint, cause });
    throw new HaloError(
      'PRD_UNREADABLE',
      `The ${what} ${path} cannot be read: ${code === undefined ? message : (REASONS[code] ?? code)}.`,
      {
        hint:
          code === 'EISDIR'
            ? `Pass a file in it, or submit all of them with \`halo queue\`.`
            : `Name a ${what} that you may read.`,
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
  throw new HaloError('USAGE', `"${word}" is both a file and the name of a PRD.`, {
    hint: `Use ./${word} for the file, or ${named} for the PRD.`,
  });
}

async function readPipe(stream: AsyncIterable<Uint8Array>): Promise<InputFile> {
  return { path: '-', bytes: new Uint8Array(await readStream(stream, MAX_BYTES)) };
}
