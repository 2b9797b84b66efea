import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import type { GuardedPath } from '../core/events.ts';
import { findNamedPaths } from '../git/named-paths.ts';
import { listFiles } from '../git/tree-list.ts';
import type { PrdBytes } from './operations.ts';

export interface GuardQuery {
  /** The checkout, where the repository is on this machine; or the bare repository. */
  root: string | undefined;
  /** Has the commit. */
  gitDir: string;
  commit: string;
  prd: PrdBytes;
  /** It came over the network: its path is of another machine, or a word of somebody else. */
  remote: boolean;
}

const MOST_COPIES = 10;

/** What only a person may let a story of this run change: its PRD, and what settings of git name. Throws GIT_FAILED. */
export async function findGuarded({ root, gitDir, commit, prd, remote }: GuardQuery): Promise<GuardedPath[]> {
  const [named, own] = await Promise.all([
    root === undefined ? [] : findNamedPaths({ root, gitDir, commit }),
    root === undefined ? [] : pathsBelow(root, prd.path, remote),
  ]);
  const prds = own.length > 0 && !remote ? own : [...own, ...(await findCopies({ gitDir, commit, prd }))];
  return [...prds.map((path) => ({ path })), ...named];
}

/** Where a file is below a folder, as it was named and where links lead. */
async function pathsBelow(root: string, file: string, remote: boolean): Promise<string[]> {
  if (!isAbsolute(file)) return [];
  const real = remote ? file : await realpath(file).catch(() => file);
  const paths = [file, real].map((path) => relative(root, path));
  return [...new Set(paths)].filter((path) => path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..');
}

/** Files of the commit with these very bytes: a PRD that came over the network is in the repository all the same. */
async function findCopies({ gitDir, commit, prd }: Omit<GuardQuery, 'root' | 'remote'>): Promise<string[]> {
  const id = createHash(commit.length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${prd.bytes.length}\0`)
    .update(prd.bytes)
    .digest('hex');
  const copies = await listFiles({ gitDir, commit }, (file) => file.id === id);
  return copies.slice(0, MOST_COPIES).map(({ path }) => path);
}
