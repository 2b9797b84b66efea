import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { JOURNAL_VERSION } from '../../core/journal/event-parts.ts';
import type { JournalEntry, JournalEvent } from '../../core/journal/events.ts';
import type { RunCreated } from '../../core/journal/run-created.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run/state.ts';
import { foldRun } from '../../core/journal/fold-run.ts';
import { createFolders, syncPath } from '../../lib/fs.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { processMark } from '../../lib/process-identity.ts';
import { historyText } from '../../core/report/history.ts';
import { buildRunRecord, progressText, type RunOrigin } from './run-record.ts';
import { isDiskError, isMissing, withDiskErrors } from '../disk-errors.ts';
import type { OpenRuns } from '../open-runs.ts';
import type { RunLists } from './run-list.ts';
import { pathsIn, type RunPaths } from '../run-layout.ts';
import { checkpointText } from '../journal/load-run.ts';

export interface NewRun {
  created: RunCreated;
  /** Entries that follow immediately. */
  then: readonly JournalEntry[];
  origin: RunOrigin;
  /** ISO 8601. */
  at: string;
  /** Formats the first lines of agent.log. */
  log: (event: JournalEvent) => string;
}

/** Prefix of folders with incomplete runs; the process that writes them follows in the name. */
const UNFINISHED = '.new-';
/** Prefix of folders with complete runs that have not been moved to their final place. */
export const COMPLETE = '.ready-';

/**
 * Creates the directories of several runs atomically. They are written to a temporary folder, and renaming that folder
 * is the commit point. If the process dies after it, `publishRuns` finishes the job.
 */
export async function createRunFolders(
  runs: string,
  { openRuns, runIndex }: RunLists,
  made: readonly NewRun[],
): Promise<void> {
  const states: RunState[] = [];
  const name = randomBytes(8).toString('hex');
  const temp = join(runs, `${UNFINISHED}${processMark()}-${name}`);
  await withDiskErrors(runs, async () => {
    await createFolders(temp, 0o700);
    try {
      for (const run of made) {
        const dir = join(runs, run.created.runId);
        if ((await stat(dir).catch(() => undefined)) !== undefined)
          throw new HaloError('INTERNAL', `The run directory ${dir} already exists.`);
        states.push(await fill(pathsIn(join(temp, run.created.runId)), run));
      }
      await syncPath(temp);
      await failpoint('submit.filled');
      await rename(temp, join(runs, `${COMPLETE}${name}`));
    } catch (error) {
      await rm(temp, { recursive: true, force: true });
      throw error;
    }
    await unlessDiskError(publishNew(runs, `${COMPLETE}${name}`, openRuns));
    await runIndex.add(states);
    await failpoint('submit.placed');
  });
}

async function publishNew(runs: string, name: string, openRuns: OpenRuns): Promise<void> {
  await syncPath(runs);
  await failpoint('submit.ready');
  await publishFolder(runs, name, openRuns);
}

/** The runs exist, and the next process publishes them. An error would make the user create them again. */
async function unlessDiskError(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isDiskError(error)) throw error;
  });
}

/** Moves complete runs to their final place: the last step of creating them, which any process can finish. */
export async function publishRuns(runs: string, openRuns: OpenRuns): Promise<void> {
  const names = await readdir(runs).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const name of names.filter((each) => each.startsWith(COMPLETE))) await publishFolder(runs, name, openRuns);
}

async function publishFolder(runs: string, name: string, openRuns: OpenRuns): Promise<void> {
  const folder = join(runs, name);
  const runIds = await unlessMissing(readdir(folder), []);
  await openRuns.add(runIds);
  await failpoint('submit.listed');
  for (const runId of runIds) await unlessMissing(rename(join(folder, runId), join(runs, runId)), undefined);
  await syncPath(runs);
  await unlessMissing(rmdir(folder), undefined);
}

/** Another process may be moving the same runs. */
async function unlessMissing<T>(work: Promise<T>, fallback: T): Promise<T> {
  return work.catch((error: unknown) => {
    if (isMissing(error)) return fallback;
    throw error;
  });
}

async function fill(paths: RunPaths, run: NewRun): Promise<RunState> {
  const entries = [run.created, ...run.then];
  const events = entries.map((entry, i): JournalEvent => ({ v: JOURNAL_VERSION, seq: 1 + i, at: run.at, ...entry }));
  const state = foldRun(events);
  if (state === undefined) throw new HaloError('INTERNAL', 'The first event of a run is not run.created.');
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await createFolders(dirname(paths.checkpoint), 0o700);
  await mkdir(paths.artifacts, { mode: 0o700 });
  await mkdir(paths.bundle, { mode: 0o700 });
  await writeDurable(paths.journal, lines);
  await writeDurable(paths.record, toJson(buildRunRecord(state, { ...run.origin, prd: namesOf(run.created.prd) })));
  await writeFile(paths.checkpoint, checkpointText({ state, end: Buffer.byteLength(lines) }), { mode: 0o600 });
  await writeFile(paths.raw, '', { mode: 0o600 });
  await writeFile(paths.log, events.map(run.log).join(''), { mode: 0o600 });
  await writeFile(paths.progress, progressText(state, []), { mode: 0o600 });
  await writeFile(paths.history, historyText([]), { mode: 0o600 });
  await syncPath(paths.dir);
  return state;
}

/** The known identifiers of the PRD; a refused run may have some of them or none. */
function namesOf({ hash, specHash, dialect }: Prd): Partial<Pick<Prd, 'hash' | 'specHash' | 'dialect'>> {
  if (hash === '') return {};
  return specHash === '' ? { hash } : { hash, specHash, dialect };
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function writeDurable(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
