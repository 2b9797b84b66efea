import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE, PRDS_FOLDER, PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import type { Prd, PrdFile } from '../../core/prd/prd.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { closeSentence } from '../../core/text/did-you-mean.ts';
import { isInside, pathExists, readRegularFile, readStream } from '../../lib/fs.ts';
import type { Cli } from '../cli.ts';
import type { ProcessIo } from '../process-io.ts';
import { resolveRepository } from './resolve-run.ts';

/** The start of relative paths, and the input for `-`. */
type Input = Pick<ProcessIo, 'stdin' | 'cwd'>;

/** Higher than the limit for PRDs, whose check reports its own error. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The PRD's path and bytes, of a file or a folder; `-` is stdin, and a name is a PRD of this project. Throws PRD_UNREADABLE and USAGE. */
export async function readPrd(file: string, io: Input): Promise<PrdFile> {
  const hint = 'Check the path. `halo prd list` lists the PRDs that halo knows, `halo prd new <name>` creates one.';
  const named = file === '-' ? undefined : await findByName(file, io.cwd);
  return readInput(named ?? file, { what: 'PRD', hint }, io);
}

/** Parses a PRD; `as`: the id of its dialect, whose tool has its rules checked as well. Throws PRD_INVALID, USAGE. */
export async function parsePrdFile({ path, bytes }: PrdFile, as?: string): Promise<Prd> {
  const [{ parsePrd }, { parseDialectId }] = await Promise.all([
    import('../../prd/parse-prd.ts'),
    import('../../prd/dialect-registry.ts'),
  ]);
  return parsePrd(bytes, path, as === undefined ? undefined : parseDialectId(as));
}

/** The path of the PRD in a usual place of the repository; names it on stderr. Throws PRD_UNREADABLE. */
export async function resolveUsualPrd(repo: string, cli: Cli): Promise<string> {
  const here = repo === cli.cwd ? await resolveRepository(cli.cwd) : repo;
  const hint = 'Pass a PRD file, e.g. `halo run tasks.md`, or create a PRD with `halo prd new <name>`.';
  const { discoverPrd } = await import('../../api/repository/discover-prd.ts');
  const path = await discoverPrd({ repo: here, hint });
  await cli.note(cli.paintErr('quiet', `PRD ${safeLine(path)}`));
  return path;
}

/** A document to convert into a PRD; `-` is stdin. Throws PRD_UNREADABLE. */
export async function readDocument(file: string, io: Input): Promise<PrdFile> {
  return readInput(file, { what: 'document', hint: 'Pass a text file, e.g. idea.md.' }, io);
}

async function readInput(file: string, { what, hint }: { what: string; hint: string }, io: Input) {
  if (file === '')
    throw new HaloError('USAGE', `The name of the ${what} is empty.`, { hint: 'Check for an empty shell variable.' });
  const path = file === '-' ? file : resolve(io.cwd, file);
  try {
    if (file === '-') return await readPipe(io.stdin);
    // `<(command)` of a shell, or /dev/stdin: it cannot be read again or written.
    const { size, isFIFO } = await statOf(path);
    if (isFIFO) return await readPipe(createReadStream(path));
    if (what === 'PRD') {
      (await import('../../prd/decode-prd.ts')).assertPrdSize(size, path);
      const { findBmadFolder, readPrdSource } = await import('../../prd/prd-source.ts');
      return await readPrdSource((await findBmadFolder(path)) ?? path);
    }
    return { path, bytes: new Uint8Array(await readRegularFile(path, MAX_BYTES)) };
  } catch (cause) {
    if (cause instanceof HaloError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new HaloError('PRD_UNREADABLE', `There is no file ${path}.`, { hint, cause });
    throw new HaloError(
      'PRD_UNREADABLE',
      `The ${what} ${path} cannot be read: ${code === undefined ? message : (REASONS[code] ?? code)}.`,
      {
        hint:
          code === 'EISDIR'
            ? `Pass a file in it, submit all of them with \`halo queue\`, or pass a folder of task files.`
            : `Name a ${what} that you may read.`,
        cause,
      },
    );
  }
}

async function statOf(path: string): Promise<{ size: number; isFIFO: boolean }> {
  const found = await stat(path);
  return { size: found.isFile() ? found.size : 0, isFIFO: found.isFIFO() };
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

async function readPipe(stream: AsyncIterable<Uint8Array>): Promise<PrdFile> {
  return { path: '-', bytes: new Uint8Array(await readStream(stream, MAX_BYTES)) };
}

/** The folder in which named PRDs of the project around `cwd` are created, at the top of its repository. */
export async function resolvePrdsFolder(cwd: string): Promise<string> {
  return join(await resolveProject(cwd), PRDS_FOLDER);
}

async function resolveProject(cwd: string): Promise<string> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await pathExists(join(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

/** The names of all PRDs of the project, sorted. Links that lead out of the project are ignored. */
export async function listPrdNames(cwd: string): Promise<string[]> {
  return (await listPrdFolders(cwd)).map(({ name }) => name).filter(isPrdName);
}

/** Sorted by name, without PRDs that have the name of one in an earlier folder. Includes folders with other names. */
export async function listPrdFolders(cwd: string): Promise<NamedPrd[]> {
  const root = await resolveProject(cwd);
  const prds = new Map<string, NamedPrd>();
  for (const folder of PRDS_FOLDERS)
    for (const name of await readdir(join(root, folder)).catch(() => [])) {
      const path = join(root, folder, name, PRD_FILE);
      if (!prds.has(name) && (await pathExists(path)) && (await isInside(root, path))) prds.set(name, { name, path });
    }
  return [...prds.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The file of an existing PRD, or undefined. Throws USAGE for one behind a link out of the project. */
export async function findNamedPrd(cwd: string, name: string): Promise<string | undefined> {
  if (!isPrdName(name)) return undefined;
  const root = await resolveProject(cwd);
  for (const folder of PRDS_FOLDERS) {
    const path = join(root, folder, name, PRD_FILE);
    if (!(await pathExists(path))) continue;
    await assertInRepository(path, cwd);
    return path;
  }
  return undefined;
}

/** Links of a repository could make halo read and write anywhere. Throws USAGE if a path below it leads out of it. */
export async function assertInRepository(path: string, cwd: string): Promise<void> {
  const root = await resolveProject(cwd);
  if (await isInside(root, path)) return;
  throw new HaloError('USAGE', `${path} is reached through a link that leads out of ${root}.`, {
    hint: 'Remove the link.',
  });
}

export interface NamedPrd {
  name: string;
  path: string;
}

/** The PRD of that name, by default the only one. Throws USAGE with the existing names. */
export async function requireNamedPrd(cwd: string, name: string | undefined): Promise<NamedPrd> {
  // Mentions that the name is that of a link.
  if (name !== undefined) await findNamedPrd(cwd, name);
  const prds = (await listPrdFolders(cwd)).filter((prd) => isPrdName(prd.name));
  const names = prds.map((prd) => prd.name);
  const found = prds.find((prd) => (name === undefined ? prds.length === 1 : prd.name === name));
  if (found !== undefined) return found;
  const hint =
    names.length === 0
      ? 'Create one with `halo prd new <name>`; `halo prd validate <file>` checks any PRD file.'
      : `Named PRDs: ${names.join(', ')}.`;
  if (name !== undefined) {
    throw new HaloError('USAGE', `There is no PRD named ${JSON.stringify(name)}${closeSentence(name, names)}`, {
      hint,
    });
  }
  throw new HaloError(
    'USAGE',
    names.length === 0 ? 'There are no named PRDs here.' : 'There are several named PRDs here: choose one.',
    {
      hint,
    },
  );
}
