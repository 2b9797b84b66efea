import { rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import { syncPath } from '../../lib/fs.ts';
import { syncPacks } from '../repository/sync-repository.ts';
import { AT_LIMIT, git, gitStream } from '../process/git.ts';
import { findKeepFile, keepMarker, sweepKeepFiles } from './kept-pack.ts';
import { retry } from '../../lib/async.ts';

export interface SendRequest {
  from: string;
  /** Repositories that have the parent of the commit; duplicates are ignored. */
  stores: readonly string[];
  commit: string;
  /** The one of them in which a `.keep` file protects the objects until a ref points to them. */
  keepIn?: string;
}

/** A commit may add a gibibyte, and delta compression takes time. */
const SEND_MS = 3_600_000;

/** Retries, because `git gc --prune=now` in the receiving repository removes packs that are still being written. */
const RETRY_DELAYS_MS = Array<number>(7).fill(0);

/**
 * Stores the objects that a commit adds to its parent in each repository, durably. Returns a function to call once a ref
 * points to the objects, or never will. Throws GIT_FAILED.
 */
export async function sendCommit(sending: SendRequest): Promise<() => Promise<void>> {
  if (sending.keepIn !== undefined) await sweepKeepFiles(sending.keepIn);
  const isRetryable = (error: unknown) =>
    error instanceof HaloError && error.code === 'GIT_FAILED' && error.cause !== AT_LIMIT;
  return retry(() => send(sending), { delaysMs: RETRY_DELAYS_MS, isRetryable });
}

/** Reads the pack once and writes it to all stores. */
async function send({ from, stores, commit, keepIn }: SendRequest): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const { signal } = stop;
  const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
  const pack = await gitStream(args, { gitDir: from, input: `${commit}\n^${commit}^1\n`, signal, timeoutMs: SEND_MS });
  const stored = [...new Set(stores)].map(async (gitDir) => {
    const input = new PassThrough();
    pack.stdout.pipe(input);
    const keep = gitDir === keepIn ? [`--keep=${keepMarker()}`] : [];
    const args = ['index-pack', '--stdin', '--strict', ...keep];
    const { stdout } = await git(args, { gitDir, input, signal, timeoutMs: SEND_MS, durable: true });
    const kept = gitDir === keepIn ? await findKeepFile(gitDir, stdout.toString('latin1')) : undefined;
    if (kept !== undefined) await syncPath(kept);
    await syncPacks(gitDir);
    return kept;
  });
  try {
    const [kept] = await Promise.all([Promise.all(stored), pack.done]);
    return async () => {
      // The next landing in this repository removes those that remain.
      for (const path of kept) if (path !== undefined) await rm(path, { force: true }).catch(() => undefined);
    };
  } catch (error) {
    stop.abort();
    await Promise.allSettled([...stored, pack.done]);
    throw error;
  }
}
