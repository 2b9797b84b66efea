import { open, type FileHandle } from 'node:fs/promises';
import type { JournalEvent } from '../../core/journal/events.ts';
import { keyedQueue } from '../../lib/async.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import type { RunPaths } from '../run-layout.ts';
import { isActivity, readJournal } from './journal-file.ts';
import { runNotFound } from './load-run.ts';

interface ReadEvents {
  events: JournalEvent[];
  /** Bytes of the journal that were read. */
  end: number;
  /** The file that was read; another one may take its place. */
  inode: number;
}

/** Runs in memory. A worker that changes between more of them reads journals again. */
const MAX_RUNS = 64;

/**
 * The events of runs without the activities of agents, which are most of a journal. They stay in memory, so
 * that each read takes time only for what was appended since the last one. Otherwise, a run of many stories would read its
 * whole journal several times for each of them.
 */
export class EventCache {
  readonly #runs = new Map<string, ReadEvents>();
  readonly #inOrder = keyedQueue();

  /** In the order of the journal. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
  async read(paths: RunPaths): Promise<readonly JournalEvent[]> {
    return this.#inOrder(paths.dir, () => withDiskErrors(paths.journal, () => this.#catchUp(paths)));
  }

  async #catchUp(paths: RunPaths): Promise<readonly JournalEvent[]> {
    const file = await open(paths.journal, 'r').catch((error: unknown) => {
      throw isMissing(error) ? runNotFound(paths, error) : error;
    });
    try {
      const read = await this.#known(paths, file);
      // Not after an error: events would be missing.
      this.#runs.delete(paths.dir);
      for await (const part of readJournal(file, paths.journal, { from: read.end }, isActivity)) {
        read.events.push(...part.events);
        read.end = part.end;
      }
      this.#runs.set(paths.dir, read);
      const [oldest] = this.#runs.keys();
      if (this.#runs.size > MAX_RUNS && oldest !== undefined) this.#runs.delete(oldest);
      return read.events;
    } finally {
      await file.close();
    }
  }

  async #known({ dir }: RunPaths, file: FileHandle): Promise<ReadEvents> {
    const { ino: inode, size } = await file.stat();
    const known = this.#runs.get(dir);
    return known?.inode === inode && known.end <= size ? known : { events: [], end: 0, inode };
  }
}
