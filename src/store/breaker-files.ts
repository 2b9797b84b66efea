import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CLOSED_BREAKER, type Breaker } from '../core/failure/breaker.ts';
import { writeAtomic } from '../lib/fs.ts';
import { withLock } from '../lib/lock.ts';
import { isMissing, withDiskErrors } from './disk-errors.ts';

/** A breaker shared by several runs, with its key: `repository:<mirror>` or `provider:<host>`. */
interface SharedBreaker extends Breaker {
  key: string;
}

/** The shared breakers of one HALO_HOME, one file each. A breaker without a file is closed. Every function may throw DISK_FAILED. */
export interface BreakerStore {
  read(key: string): Promise<Breaker>;
  /** Changes a breaker under its lock and returns the result of `change`. */
  update<T>(key: string, change: (breaker: Breaker) => { breaker: Breaker; result: T }): Promise<T>;
  /** Closes a breaker and clears its failures. Returns false when there is no breaker with that key. */
  reset(key: string): Promise<boolean>;
  /** All breakers that are not closed. */
  list(): Promise<SharedBreaker[]>;
}

export function openBreakerStore(home: string): BreakerStore {
  const dir = join(home, 'breakers');
  const fileOf = (key: string) => join(dir, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`);
  const locked = <T>(key: string, work: (file: string) => Promise<T>) =>
    withDiskErrors(dir, async () => {
      return withLock(`${fileOf(key)}.lock`, () => work(fileOf(key)), { makeFolder: true });
    });
  return {
    read: (key) => withDiskErrors(dir, async () => (await readBreaker(fileOf(key))) ?? CLOSED_BREAKER),
    update: (key, change) =>
      locked(key, async (file) => {
        const before = (await readBreaker(file)) ?? CLOSED_BREAKER;
        const { breaker, result } = change(before);
        if (breaker !== before) await writeAtomic(file, JSON.stringify({ v: 1, key, ...breaker }));
        return result;
      }),
    reset: (key) =>
      locked(key, async (file) => {
        const found = (await readBreaker(file)) !== undefined;
        await rm(file, { force: true });
        return found;
      }),
    list: () => withDiskErrors(dir, () => listOpen(dir)),
  };
}

async function listOpen(dir: string): Promise<SharedBreaker[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files = names.filter((name) => name.endsWith('.json')).sort();
  const found = await Promise.all(files.map((name) => readBreaker(join(dir, name))));
  return found.flatMap((breaker) => (breaker === undefined || breaker.status === 'closed' ? [] : [breaker]));
}

/** An unreadable file counts as a missing one: a breaker only saves time and money, and it reopens on new failures. */
async function readBreaker(file: string): Promise<SharedBreaker | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  try {
    const breaker = text === undefined ? undefined : (JSON.parse(text) as SharedBreaker & { v: number });
    return breaker?.v === 1 && Array.isArray(breaker.signs) ? breaker : undefined;
  } catch {
    return undefined;
  }
}
