import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { ignore } from '../../lib/async.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import type { RunPaths } from '../run-layout.ts';
import { readJournalPart, type ReadPart } from './journal-file.ts';
import { runNotFound } from './load-run.ts';
import { watchFolder } from './watch-files.ts';

/** Journals that are followed. What is appended to one is read once for all its followers. */
export class JournalTails {
  readonly #tails = new Map<string, { followers: number; opening: Promise<JournalTail> }>();

  /** Calls `work` with the open journal. Throws RUN_NOT_FOUND, DISK_FAILED, and what `work` throws. */
  async *use<T>(paths: RunPaths, work: (tail: JournalTail) => AsyncGenerator<T>): AsyncGenerator<T> {
    const entry = this.#tails.get(paths.dir) ?? { followers: 0, opening: openTail(paths) };
    entry.followers += 1;
    this.#tails.set(paths.dir, entry);
    try {
      yield* work(await entry.opening);
    } finally {
      entry.followers -= 1;
      if (entry.followers === 0) {
        this.#tails.delete(paths.dir);
        await entry.opening.then((tail) => tail.close(), ignore);
      }
    }
  }
}

/** Opens a journal for reading. Throws RUN_NOT_FOUND, DISK_FAILED. */
export async function openJournal(paths: RunPaths): Promise<FileHandle> {
  return withDiskErrors(paths.journal, () =>
    open(paths.journal, 'r').catch((error: unknown) => {
      throw isMissing(error) ? runNotFound(paths, error) : error;
    }),
  );
}

async function openTail(paths: RunPaths): Promise<JournalTail> {
  return new JournalTail(await openJournal(paths), paths);
}

/** A journal that is open for several followers. */
class JournalTail {
  readonly #file: FileHandle;
  readonly #paths: RunPaths;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<() => void>();
  #changes = 0;
  #latest: { key: string; part: Promise<ReadPart> } | undefined;

  constructor(file: FileHandle, paths: RunPaths) {
    this.#file = file;
    this.#paths = paths;
    void this.#watch();
  }

  /** How often the journal may have changed so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Reads from the start of a line; followers that are at the same place share the result. Throws RUN_UNREADABLE, DISK_FAILED. */
  read(from: number): Promise<ReadPart> {
    const key = `${this.#changes} ${from}`;
    if (this.#latest?.key !== key) {
      const { journal } = this.#paths;
      this.#latest = { key, part: readJournalPart(this.#file, journal, { from }) };
    }
    return this.#latest.part;
  }

  /** Resolves when `changes` is no longer `since`, or on abort. */
  async changed(since: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#changes !== since || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#file.close();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    const watching = watchFolder(this.#paths.dir, signal, basename(this.#paths.journal));
    while (!signal.aborted) {
      await watching.changed();
      this.#changes += 1;
      for (const done of [...this.#waiting]) done();
    }
    watching.close();
  }
}
