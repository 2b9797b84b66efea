import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import type { RunPaths } from '../run-layout.ts';
import { locateArtifact, openArtifactFile } from '../run/artifacts.ts';
import type { LogReader } from '../run/log-lines.ts';
import { findContent, readChunks } from '../run/stored-file.ts';
import { openJournal, type JournalTails } from './journal-tail.ts';
import { catchUp, loadRun } from './load-run.ts';
import { watchFolder } from './watch-files.ts';

export interface FollowJournalOptions {
  /** Yield events with a larger seq; 0 for all. */
  after: number;
  /** Wait for new events until the run has ended; otherwise stop after the existing ones. */
  follow: boolean;
  signal?: AbortSignal;
}

export interface FollowOutputOptions {
  /** Only the output of this story's agent. */
  storyKey?: string;
  follow: boolean;
  signal?: AbortSignal;
}

/** Yields the events of a run as any process appends them. Throws RUN_NOT_FOUND, RUN_UNREADABLE. */
export function followJournal(
  paths: RunPaths,
  { tails, after, follow, signal }: FollowJournalOptions & { tails: JournalTails },
): AsyncGenerator<JournalEvent> {
  return tails.use(paths, async function* (tail) {
    let state: RunState | undefined;
    for (let from = 0; signal?.aborted !== true;) {
      const { changes } = tail;
      for (let isLast = false; !isLast;) {
        const part = await tail.read(from);
        // A line can be longer than a part, and incomplete.
        isLast = part.isLast || part.end === from;
        from = part.end;
        for (const event of part.events) {
          state = applyEvent(state, event);
          if (event.seq > after) yield event;
        }
      }
      // An ended run can be resumed, so only the current state decides.
      if (!follow || state?.status === 'ended') return;
      await tail.changed(changes, signal);
    }
  });
}

/** Yields the state of a run now and after changes; changes in quick succession may be merged. Ends only on abort. */
export async function* followState(paths: RunPaths, signal: AbortSignal): AsyncGenerator<RunState> {
  const file = await openJournal(paths);
  const watching = watchFolder(paths.dir, signal, basename(paths.journal));
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

/** Yields the raw output of the agents as it is written: of the whole run, or of one story, attempt by attempt. */
export async function* followRawOutput(paths: RunPaths, options: FollowOutputOptions): AsyncGenerator<Uint8Array> {
  const { storyKey, follow, signal } = options;
  const offsets = new Map<string, number>();
  const journal = await openJournal(paths);
  const watching = follow ? watchFolder(paths.dir, signal) : undefined;
  try {
    let known = await loadRun(paths);
    while (signal?.aborted !== true) {
      // Read the state before the files, so that all output written before the end is read.
      known = await catchUp(journal, paths, known);
      const ended = watching === undefined || known.state.status === 'ended';
      const files = storyKey === undefined ? [paths.raw] : await attemptFiles(join(paths.artifacts, storyKey));
      for (const path of files) {
        const content = await findContent(path);
        if (content === undefined) continue;
        for await (const part of readChunks(content, offsets.get(path) ?? 0)) {
          offsets.set(path, (offsets.get(path) ?? 0) + part.length);
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

interface LogPlaces {
  paths: RunPaths;
  logs: LogReader;
}

export interface FollowLogOptions {
  follow: boolean;
  signal?: AbortSignal;
}

/**
 * Yields the size of a log now and, with `follow`, each time that it has grown, until the signal aborts. A file that does
 * not exist yet is empty.
 * Throws ARTIFACT_UNREADABLE for a path that no file has.
 */
export async function* followLogSize(
  { paths, logs }: LogPlaces,
  path: string,
  { follow, signal }: FollowLogOptions,
): AsyncGenerator<{ lines: number; bytes: number }> {
  const { plain } = locateArtifact(paths, path);
  const watching = follow ? watchFolder(dirname(plain), signal) : undefined;
  try {
    let seen = -1;
    while (signal?.aborted !== true) {
      const size = await measure({ paths, logs }, path);
      if (size.bytes !== seen) yield size;
      seen = size.bytes;
      if (watching === undefined) return;
      await watching.changed();
    }
  } finally {
    watching?.close();
  }
}

async function measure({ paths, logs }: LogPlaces, path: string): Promise<{ lines: number; bytes: number }> {
  try {
    return await logs.measure(await openArtifactFile(paths, path));
  } catch (error) {
    if (error instanceof HaloError && error.code === 'ARTIFACT_UNREADABLE') return { lines: 0, bytes: 0 };
    throw error;
  }
}
