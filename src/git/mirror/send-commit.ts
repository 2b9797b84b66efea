import { rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import { syncPath } from '../../lib/atomic-write.ts';
import { syncPacks } from '../repository/sync-repository.ts';
import { AT_LIMIT, git, gitStream } from '../process/git.ts';
import { findKept, keepNote, sweepKept } from './kept-pack.ts';

export interface Sending {
  from: string;
  /** Repositories that have the parent of the commit; one that is named twice gets it once. */
  stores: readonly string[];
  commit: string;
  /** The one of them in which the objects are kept, although no ref names them yet. */
  keepIn?: string;
}

/** A commit may bring a gibibyte, whose deltas are searched for. */
const SEND_MS = 3_600_000;

/** Cleaning in the receiving repository (`git gc --prune=now`) removes packs that are still being written. */
const TRIES = 8;

/**
 * What the commit has and its parent has not, stored in each repository, durably. Answers with what is to be called
 * when a ref names the objects, or none ever will. Throws GIT_FAILED.
 */
export async function sendCommit(sending: Sending): Promise<() => Promise<void>> {
  if (sending.keepIn !== undefined) await sweepKept(sending.keepIn);
  for (let tries = 1; ; tries += 1) {
    try {
      return await send(sending);
    } catch (error) {
      const again = error instanceof HaloError && error.code === 'GIT_FAILED' && error.cause !== AT_LIMIT;
      if (tries === TRIES || !again) throw error;
    }
  }
}

/** Read once for all. */
async function send({ from, stores, commit, keepIn }: Sending): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const { signal } = stop;
  const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
  const pack = await gitStream(args, { gitDir: from, input: `${commit}\n^${commit}^1\n`, signal, timeoutMs: SEND_MS });
  const stored = [...new Set(stores)].map(async (gitDir) => {
    const input = new PassThrough();
    pack.stdout.pipe(input);
    const keep = gitDir === keepIn ? [`--keep=${keepNote()}`] : [];
    const args = ['index-pack', '--stdin', '--strict', ...keep];
    const { stdout } = await git(args, { gitDir, input, signal, timeoutMs: SEND_MS, durable: true });
    const kept = gitDir === keepIn ? await findKept(gitDir, stdout.toString('latin1')) : undefined;
    if (kept !== undefined) await syncPath(kept);
    await syncPacks(gitDir);
    return kept;
  });
  try {
    const [kept] = await Promise.all([Promise.all(stored), pack.done]);
    return async () => {
      // One that cannot be removed now is swept by the next who lands here.
      for (const path of kept) if (path !== undefined) await rm(path, { force: true }).catch(() => undefined);
    };
  } catch (error) {
    stop.abort();
    await Promise.allSettled([...stored, pack.done]);
    throw error;
  }
}
