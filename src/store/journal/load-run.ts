import { open, readFile, type FileHandle } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import { readJournal, unreadable } from './journal-file.ts';
import type { RunPaths } from '../run-layout.ts';

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

const CHECKPOINT_VERSION = 7;

export function checkpointText({ state, end }: FoldedRun): string {
  return `${JSON.stringify({ v: CHECKPOINT_VERSION, journalBytes: end, state } satisfies Checkpoint, null, 2)}\n`;
}

/** The state of a run: its checkpoint plus the later events of the journal. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export async function loadRun(paths: RunPaths): Promise<FoldedRun> {
  return withJournal(paths, async (file) => {
    const known = await readCheckpoint(paths, file);
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
