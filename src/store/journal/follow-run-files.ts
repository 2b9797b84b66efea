import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run-state.ts';
import { isMissing, onDisk } from '../disk-errors.ts';
import { readJournal } from './journal-file.ts';
import type { RunPaths } from '../run-layout.ts';
import { catchUp, loadRun, runMissing } from './load-run.ts';
import { watchFolder } from './watch-files.ts';

export interface FollowJournal {
  /** Events with a larger seq are given; 0 for all. */
  after: number;
  /** Go on until the run has ended; else stop at what is there. */
  follow: boolean;
  signal?: AbortSignal;
}

export interface FollowRaw {
  /** Only what the agent of this story said. */
  storyKey?: string;
  follow: boolean;
  signal?: AbortSignal;
}

const PART = 64 * 1024;

/** The events of a run as they come, whichever process writes them. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export async function* followJournal(paths: RunPaths, options: FollowJournal): AsyncGenerator<JournalEvent> {
  const { after, follow, signal } = options;
  const file = await openOrMissing(paths);
  const watching = follow ? watchFolder(paths.dir, signal) : undefined;
  try {
    let state: RunState | undefined;
    for (let from = 0; signal?.aborted !== true;) {
      for await (const part of readJournal(file, paths.journal, from)) {
        from = part.end;
        for (const event of part.events) {
          state = applyEvent(state, event);
          if (event.seq > after) yield event;
        }
      }
      // A person may let an ended run go on.
      if (watching === undefined || state?.status === 'ended') return;
      await watching.changed();
    }
  } finally {
    watching?.close();
    await file.close();
  }
}

/** The state of a run, now and after each change, as far as they are seen one by one. Ends on abort alone. */
export async function* followState(paths: RunPaths, signal: AbortSignal): AsyncGenerator<RunState> {
  const file = await openOrMissing(paths);
  const watching = watchFolder(paths.dir, signal);
  try {
    let known = await loadRun(paths);
    for (let seen = 0; !signal.aborted; known = await catchUp(file, paths, known)) {
      if (known.state.seq > seen) yield known.state;
      seen = known.state.seq;
      await watching.changed();
    }
  } finally {
    watching.close();
    await file.close();
  }
}

/** The agents' raw output as it comes, byte for byte: of the run, or of one story attempt by attempt. */
export async function* followRawOutput(paths: RunPaths, options: FollowRaw): AsyncGenerator<Uint8Array> {
  const { storyKey, follow, signal } = options;
  const places = new Map<string, number>();
  const journal = await openOrMissing(paths);
  const watching = follow ? watchFolder(paths.dir, signal) : undefined;
  try {
    let known = await loadRun(paths);
    while (signal?.aborted !== true) {
      // The state first: what was written before the end is then read for certain.
      known = await catchUp(journal, paths, known);
      const ended = watching === undefined || known.state.status === 'ended';
      const files = storyKey === undefined ? [paths.raw] : await attemptFiles(join(paths.artifacts, storyKey));
      for (const path of files) {
        for await (const part of readRest(path, places.get(path) ?? 0)) {
          places.set(path, (places.get(path) ?? 0) + part.length);
          yield part;
        }
      }
      if (ended) return;
      await watching.changed();
    }
  } finally {
    watching?.close();
    await journal.close();
  }
}

async function attemptFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const attempts = names.map(Number).filter(Number.isInteger);
  return attempts.sort((a, b) => a - b).map((attempt) => join(dir, String(attempt), 'events.jsonl'));
}

async function* readRest(path: string, from: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  try {
    for (let at = from; file !== undefined;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(PART), 0, PART, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file?.close();
  }
}

async function openOrMissing(paths: RunPaths) {
  return onDisk(paths.journal, () =>
    open(paths.journal, 'r').catch((error: unknown) => {
      throw isMissing(error) ? runMissing(paths, error) : error;
    }),
  );
}
