import { git } from './git.ts';
import { assertObjectId } from './object-id.ts';

export interface DiffRequest {
  gitDir: string;
  from: string;
  to: string;
  /** Default 32 MiB; a larger diff is GIT_FAILED. */
  maxBytes?: number;
}

const PLAIN = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];

/** The changes between two commits as a patch. No program that a repository configures is run. */
export async function diffCommits(request: DiffRequest): Promise<string> {
  const shape = ['-p', '--src-prefix=a/', '--dst-prefix=b/'];
  return (await diffTree(request, shape)).toString('utf8');
}

export interface FileStat {
  path: string;
  /** Lines; undefined for binary files. */
  added: number | undefined;
  deleted: number | undefined;
}

/** Lines added and deleted per file between two commits; a renamed file counts as deleted and added. */
export async function diffStat(request: DiffRequest): Promise<FileStat[]> {
  const listed = await diffTree(request, ['--no-renames', '--numstat', '-z']);
  const records = listed.toString('utf8').split('\0').slice(0, -1);
  return records.map((record) => {
    const [added = '', deleted = '', ...path] = record.split('\t');
    return { path: path.join('\t'), added: count(added), deleted: count(deleted) };
  });
}

async function diffTree({ gitDir, from, to, maxBytes }: DiffRequest, shape: string[]): Promise<Buffer> {
  assertObjectId(from, 'The older commit');
  assertObjectId(to, 'The newer commit');
  const args = ['diff-tree', ...PLAIN, ...shape, from, to];
  return (await git(args, { gitDir, maxBytes: maxBytes ?? 32 * 1024 * 1024 })).stdout;
}

function count(text: string): number | undefined {
  return text === '-' ? undefined : Number(text);
}
