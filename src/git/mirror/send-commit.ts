import { randomBytes } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { retry } from '../../lib/async.ts';
import { readFolder, syncPath } from '../../lib/fs.ts';
import { defined } from '../../lib/guards.ts';
import { isOrphaned, processMark } from '../../lib/process-identity.ts';
import { AT_LIMIT, git, gitStream, gitText, tryGit } from '../process/git.ts';
import { revisions } from './history.ts';
import { syncPacks } from '../repository/sync-repository.ts';

interface SendRequest {
  from: string;
  /** Repositories that have the parent of the commit; duplicates are ignored. */
  stores: readonly string[];
  commit: string;
  /** The one of them in which a `.keep` file protects the objects until a ref points to them. */
  keepIn?: string;
}

interface SentCommit {
  /** The pack is `pack-<pack>` in each repository. */
  pack: string;
  /** To call once a ref points to the objects, or never will. */
  release(this: void): Promise<void>;
}

/** A commit may add a gibibyte, and delta compression takes time. */
const SEND_MS = 3_600_000;

/** Retries, because `git gc --prune=now` in the receiving repository removes packs that are still being written. */
const RETRY_DELAYS_MS = Array<number>(7).fill(0);

/**
 * Stores the objects that a commit adds to its parent in each repository, durably and as one pack; with the whole history
 * if a repository no longer has the parent. Throws GIT_FAILED.
 */
export async function sendCommit(sending: SendRequest): Promise<SentCommit> {
  if (sending.keepIn !== undefined) await sweepKeepFiles(sending.keepIn);
  const isRetryable = (error: unknown) =>
    error instanceof HaloError && error.code === 'GIT_FAILED' && error.cause !== AT_LIMIT;
  let without = [`^${sending.commit}^1`];
  const sendOnce = async () => {
    try {
      return await send(sending, without);
    } catch (error) {
      if (isRetryable(error) && (await isParentMissing(sending))) without = [];
      throw error;
    }
  };
  return retry(sendOnce, { delaysMs: RETRY_DELAYS_MS, isRetryable });
}

/** Whether a repository lacks the parent: a person has replaced that commit, and git has removed it since. */
async function isParentMissing({ from, stores, commit }: SendRequest): Promise<boolean> {
  const parent = await gitText(['rev-parse', '--verify', `${commit}^1`], { gitDir: from });
  const found = await Promise.all(stores.map((gitDir) => tryGit(['cat-file', '-e', parent], { gitDir })));
  return found.some(({ exitCode }) => exitCode !== 0);
}

/** Makes the pack once and stores it in all stores. `without`: what they have, as arguments of `git rev-list`. */
async function send({ from, stores, commit, keepIn }: SendRequest, without: readonly string[]): Promise<SentCommit> {
  // `sweepTemporary` removes files of this name after a crash, from mirrors and held repositories.
  const file = join(packsOf(from), `tmp_pack_halo_${randomBytes(6).toString('hex')}`);
  const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
  const input = `${[commit, ...without].join('\n')}\n`;
  const stop = new AbortController();
  const store = async (gitDir: string) => {
    const keep = gitDir === keepIn ? [`--keep=${keepMarker()}`] : [];
    const args = ['index-pack', '--stdin', '--strict', ...keep];
    const options = { gitDir, input: { file }, signal: stop.signal, timeoutMs: SEND_MS, durable: true };
    const { stdout } = await git(args, options);
    const [, name = ''] = /^(?:keep|pack)\t([0-9a-f]{40,64})$/m.exec(stdout.toString('latin1')) ?? [];
    const kept = gitDir === keepIn ? await findKeepFile(gitDir, name) : undefined;
    if (kept !== undefined) await syncPath(kept);
    await syncPacks(gitDir);
    return { name, kept };
  };
  try {
    await git(args, { gitDir: from, input, outputFile: file, timeoutMs: SEND_MS });
    const stored = [...new Set(stores)].map(store);
    const packs = await Promise.all(stored).catch(async (error: unknown) => {
      stop.abort();
      await Promise.allSettled(stored);
      throw error;
    });
    const release = async () => {
      // The next landing in this repository removes those that remain.
      for (const { kept } of packs) if (kept !== undefined) await rm(kept, { force: true }).catch(() => undefined);
    };
    return { pack: packs[0]?.name ?? '', release };
  } finally {
    await rm(file, { force: true });
  }
}

/** Content of a `.keep` file: git must not repack or remove the pack, because no ref points to its objects yet. */
function keepMarker(): string {
  return `halo lands a commit, ${processMark()}`;
}

const NOTE = /^halo lands a commit, (\S+)\n$/;

/** Finds this process's `.keep` file of a pack; an earlier try may have created it. */
async function findKeepFile(gitDir: string, name: string): Promise<string | undefined> {
  const path = join(packsOf(gitDir), `pack-${name}.keep`);
  return (await readFile(path, 'utf8').catch(() => '')) === `${keepMarker()}\n` ? path : undefined;
}

/** Removes `.keep` files of halo processes that have died. */
async function sweepKeepFiles(gitDir: string): Promise<void> {
  // A repository without packs need not have the folder.
  const names = await readFolder(packsOf(gitDir));
  for (const path of names.filter((name) => name.endsWith('.keep')).map((name) => join(packsOf(gitDir), name))) {
    const mark = NOTE.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
    const madeMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
    if (mark !== undefined && isOrphaned(mark, madeMs)) await rm(path, { force: true });
  }
}

function packsOf(gitDir: string): string {
  return join(gitDir, 'objects', 'pack');
}

interface HistoryRequest {
  gitDir: string;
  /** Commits and annotated tags. */
  wanted: readonly string[];
  /** What the receiver has: these, with all that they reach. */
  known: readonly string[];
  signal?: AbortSignal;
}

/**
 * Streams a thin pack of what commits reach and the receiver lacks. The stream fails with GIT_FAILED when git does.
 */
export async function streamHistory({ gitDir, wanted, known, signal }: HistoryRequest): Promise<Readable> {
  const args = ['pack-objects', '--revs', '--thin', '--stdout', '--quiet', '--delta-base-offset'];
  const pack = await gitStream(args, { gitDir, input: revisions(wanted, known), ...defined({ signal }) });
  const out = new PassThrough();
  // Ended only after git succeeded: a truncated stream must never look complete.
  Promise.all([pipeline(pack.stdout, out, { end: false }), pack.done]).then(
    () => out.end(),
    (error: unknown) => out.destroy(error as Error),
  );
  return out;
}
