import { open, readFile, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run/state.ts';
import { createFileOnce, pathExists, readFolder, writeAtomic } from '../../lib/fs.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import { runPaths, type RunPaths } from '../run-layout.ts';
import { loadRun, lockRun } from './load-run.ts';
import { isActivity, readJournal } from './journal-file.ts';

/** New events of a run, in the order of its journal. */
export interface FedEvents {
  runId: string;
  /** Without the activities of agents. */
  events: JournalEvent[];
  /** The state of the run after these events, or later ones. */
  state: RunState;
  /** The bytes of the journal up to the last event. */
  end: number;
  /** All events of the run, because its file is damaged: some of them were handed on before. */
  isRepeated?: boolean;
}

/**
 * The runs of a home with events that were not handed on yet: a file each in `<home>/feed`, which has the number of bytes of
 * the journal that were. A writer adds the file before it appends, so that no event is missed; the reader removes it when
 * the run has ended and everything is handed on. Reading takes time for open runs and for what changed, not for the others.
 */
export class JournalFeed {
  readonly #home: string;
  readonly #dir: string;

  constructor(home: string) {
    this.#home = home;
    this.#dir = join(home, 'feed');
  }

  /** Call it before events are appended at `end`, while the run is locked. Durable. Throws DISK_FAILED. */
  async mark(runId: string, end: number): Promise<void> {
    const path = this.#path(runId);
    // At most once for each run and pass of the reader, so that it costs a story next to nothing.
    await withDiskErrors(path, async () => (await pathExists(path)) || createFileOnce(path, String(end)));
  }

  /** Runs with a file. */
  async runIds(): Promise<string[]> {
    return (await withDiskErrors(this.#dir, () => readFolder(this.#dir))).filter((name) => RUN_ID.test(name)).sort();
  }

  /**
   * The events of a run that were not handed on: none while its writer has not appended yet. Throws RUN_NOT_FOUND,
   * RUN_UNREADABLE, DISK_FAILED.
   */
  async read(runId: string): Promise<FedEvents> {
    const paths = runPaths(this.#home, runId);
    const { state } = await loadRun(paths);
    const file = await open(paths.journal, 'r');
    try {
      const handedOn = await this.#handedOn(runId, file);
      const from = handedOn ?? 0;
      const events: JournalEvent[] = [];
      let end = from;
      for await (const part of readJournal(file, paths.journal, { from }, isActivity)) {
        events.push(...part.events);
        end = part.end;
      }
      const after = events.length === 0 ? state : (await loadRun(paths)).state;
      return { runId, events, state: after, end, ...(handedOn === undefined && { isRepeated: true }) };
    } finally {
      await file.close();
    }
  }

  /**
   * Records that the events up to `end` were handed on, durably; or removes the file if there are no others. Call it while
   * the run is locked.
   */
  async handOn(runId: string, end: number): Promise<void> {
    const size = await sizeOf(runPaths(this.#home, runId));
    if (end < size) await writeAtomic(this.#path(runId), String(end), true);
    else await this.remove(runId);
  }

  /** Without handing on what is new. */
  async remove(runId: string): Promise<void> {
    await rm(this.#path(runId), { force: true });
  }

  /**
   * Bytes of the journal. Undefined if the file is damaged: then everything is handed on again, because consumers recognize
   * what they have recorded, and nothing would bring an event back.
   */
  async #handedOn(runId: string, journal: FileHandle): Promise<number | undefined> {
    const text = await readFile(this.#path(runId), 'utf8').catch(unlessGone);
    // Another process has handed everything on since.
    if (text === undefined) return (await journal.stat()).size;
    const bytes = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
    return bytes !== undefined && (await startsLine(journal, bytes)) ? bytes : undefined;
  }

  #path(runId: string): string {
    return join(this.#dir, runId);
  }
}

/** See `JournalStore.feedEvents`. */
export async function feedEvents(
  feed: JournalFeed,
  home: string,
  { take, signal }: { take: (fed: FedEvents) => Promise<void>; signal: AbortSignal },
): Promise<number> {
  let unreadable = 0;
  for (const runId of await feed.runIds()) {
    if (signal.aborted) break;
    const fed = await feed.read(runId).catch((error: unknown) => toHaloError(error));
    if (fed instanceof HaloError) {
      if (fed.code === 'RUN_NOT_FOUND') await feed.remove(runId);
      else unreadable += 1;
      continue;
    }
    if (fed.events.length > 0) await take(fed);
    await lockRun(runPaths(home, runId), () => feed.handOn(runId, fed.end));
  }
  return unreadable;
}

async function sizeOf({ journal }: RunPaths): Promise<number> {
  return (await stat(journal).catch(unlessGone))?.size ?? 0;
}

async function startsLine(journal: FileHandle, at: number): Promise<boolean> {
  if (at === 0) return true;
  const { buffer, bytesRead } = await journal.read(Buffer.alloc(1), 0, 1, at - 1);
  return bytesRead === 1 && buffer[0] === 0x0a;
}

function unlessGone(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
