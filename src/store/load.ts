import { open, readFile, type FileHandle } from 'node:fs/promises';
import { HaloError } from '../core/errors.ts';
import type { JournalEvent } from '../core/events.ts';
import { applyEvent, foldRun } from '../core/fold-run.ts';
import type { RunState } from '../core/run-state.ts';
import { isMissing, onDisk } from './disk.ts';
import { readJournalPart, unreadable } from './journal-file.ts';
import type { RunPaths } from './layout.ts';

/** A state, and how many bytes of the journal are folded into it. */
export interface Folded {
  state: RunState;
  end: number;
}

/** checkpoints/state.json; raised `v` means: fold the journal anew. */
interface Checkpoint {
  v: typeof CHECKPOINT_VERSION;
  journalBytes: number;
  state: RunState;
}

const CHECKPOINT_VERSION = 2;

export function checkpointText({ state, end }: Folded): string {
  return `${JSON.stringify({ v: CHECKPOINT_VERSION, journalBytes: end, state } satisfies Checkpoint, null, 2)}\n`;
}

/** The state of a run: its checkpoint, and what the journal says since. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export async function loadRun(paths: RunPaths): Promise<Folded> {
  return withJournal(paths, async (file) => {
    const known = await readCheckpoint(paths, file);
    if (known !== undefined) return catchUp(file, paths, known);
    const { events, end } = await readJournalPart(file, paths.journal, { from: 0 });
    const state = foldRun(events);
    if (state === undefined) throw unreadable(paths.journal, 'it does not begin with the creation of the run');
    return { state, end };
  });
}

/** All events of a run. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export async function loadEvents(paths: RunPaths): Promise<JournalEvent[]> {
  return withJournal(paths, async (file) => (await readJournalPart(file, paths.journal, { from: 0 })).events);
}

/** Folds in what was added to the journal since. */
export async function catchUp(file: FileHandle, paths: RunPaths, known: Folded): Promise<Folded> {
  const { events, end } = await readJournalPart(file, paths.journal, { from: known.end });
  return { state: foldOn(known.state, events), end };
}

export function foldOn(state: RunState, events: readonly JournalEvent[]): RunState {
  return events.reduce((sum, event) => applyEvent(sum, event) ?? sum, state);
}

export function runMissing(paths: RunPaths, cause?: unknown): HaloError {
  const hint = '`halo ls` shows all runs.';
  return new HaloError('RUN_NOT_FOUND', `There is no run at ${paths.dir}.`, { hint, cause });
}

async function withJournal<T>(paths: RunPaths, read: (file: FileHandle) => Promise<T>): Promise<T> {
  return onDisk(paths.journal, async () => {
    const file = await open(paths.journal, 'r').catch((error: unknown) => {
      throw isMissing(error) ? runMissing(paths, error) : error;
    });
    try {
      return await read(file);
    } finally {
      await file.close();
    }
  });
}

/** The checkpoint only saves time: whatever is odd about it makes it undefined. */
async function readCheckpoint(paths: RunPaths, journal: FileHandle): Promise<Folded | undefined> {
  try {
    const { v, journalBytes, state } = JSON.parse(await readFile(paths.checkpoint, 'utf8')) as Checkpoint;
    const before = Buffer.alloc(1);
    await journal.read(before, 0, 1, journalBytes - 1);
    return v === CHECKPOINT_VERSION && before[0] === 0x0a ? { state, end: journalBytes } : undefined;
  } catch {
    return undefined;
  }
}
