import { open, readFile, type FileHandle } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import { keyedQueue } from '../../lib/async.ts';
import { withLock } from '../../lib/lock.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import type { RunPaths } from '../run-layout.ts';
import { isActivity, readJournal, unreadable } from './journal-file.ts';

/** A state, and the number of journal bytes folded into it. */
export interface FoldedRun {
  state: RunState;
  end: number;
}

/** The content of checkpoints/state.json. A different `v` means that the whole journal is folded again. */
interface Checkpoint {
  v: typeof CHECKPOINT_VERSION;
  journalBytes: number;
  state: RunState;
}

const CHECKPOINT_VERSION = 13;

export function checkpointText({ state, end }: FoldedRun): string {
  return `${JSON.stringify({ v: CHECKPOINT_VERSION, journalBytes: end, state } satisfies Checkpoint, null, 2)}\n`;
}

/**
 * The state of a run: what this process has folded before, or the checkpoint, plus the later events of the journal. Throws
 * RUN_NOT_FOUND, RUN_UNREADABLE.
 */
export async function loadRun(paths: RunPaths, folded?: FoldedRun): Promise<FoldedRun> {
  return withJournal(paths, async (file) => {
    const { size } = await file.stat();
    if (folded?.end === size) return folded;
    const known = folded !== undefined && folded.end < size ? folded : await readCheckpoint(paths, file);
    if (known !== undefined) return catchUp(file, paths, known);
    let state: RunState | undefined;
    let end = 0;
    for await (const part of readJournal(file, paths.journal, { from: 0 })) {
      for (const event of part.events) state = applyEvent(state, event);
      end = part.end;
    }
    if (state === undefined) throw unreadable(paths.journal, 'it does not begin with the creation of the run');
    return { state, end };
  });
}

/** All events of a run. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export async function loadEvents(paths: RunPaths): Promise<JournalEvent[]> {
  return withJournal(paths, async (file) => {
    const events: JournalEvent[] = [];
    for await (const part of readJournal(file, paths.journal, { from: 0 })) events.push(...part.events);
    return events;
  });
}

/** Folds the events that were appended since `known`. */
export async function catchUp(file: FileHandle, paths: RunPaths, known: FoldedRun): Promise<FoldedRun> {
  let { state, end } = known;
  if ((await file.stat()).size === end) return known;
  for await (const part of readJournal(file, paths.journal, { from: end, seq: state.seq })) {
    state = foldEvents(state, part.events);
    end = part.end;
  }
  return { state, end };
}

export function foldEvents(state: RunState, events: readonly JournalEvent[]): RunState {
  return events.reduce((sum, event) => applyEvent(sum, event) ?? sum, state);
}

export function runNotFound(paths: RunPaths, cause?: unknown): HaloError {
  const hint = 'Run `halo ls` to list all runs.';
  return new HaloError('RUN_NOT_FOUND', `No run exists at ${paths.dir}.`, { hint, cause });
}

async function withJournal<T>(paths: RunPaths, read: (file: FileHandle) => Promise<T>): Promise<T> {
  return withDiskErrors(paths.journal, async () => {
    const file = await open(paths.journal, 'r').catch((error: unknown) => {
      throw isMissing(error) ? runNotFound(paths, error) : error;
    });
    try {
      return await read(file);
    } finally {
      await file.close();
    }
  });
}

/** Reads the checkpoint, or undefined when anything about it is unusual: it only saves time. */
async function readCheckpoint(paths: RunPaths, journal: FileHandle): Promise<FoldedRun | undefined> {
  try {
    const { v, journalBytes, state } = JSON.parse(await readFile(paths.checkpoint, 'utf8')) as Checkpoint;
    const before = Buffer.alloc(1);
    await journal.read(before, 0, 1, journalBytes - 1);
    return v === CHECKPOINT_VERSION && before[0] === 0x0a ? { state, end: journalBytes } : undefined;
  } catch {
    return undefined;
  }
}

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

/** Runs work while no other process appends to the run, or removes files of it. Throws RUN_NOT_FOUND. */
export async function lockRun<T>(paths: RunPaths, work: () => Promise<T>): Promise<T> {
  return withDiskErrors(paths.dir, () =>
    withLock(paths.lock, work).catch((error: unknown) => {
      throw isMissing(error) && (error as NodeJS.ErrnoException).syscall === 'symlink'
        ? runNotFound(paths, error)
        : error;
    }),
  );
}
