import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { JOURNAL_VERSION, type JournalEntry, type JournalEvent } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { foldRun } from '../../core/journal/fold-run.ts';
import { syncPath } from '../../lib/atomic-write.ts';
import { reach } from '../../lib/failpoint.ts';
import { markProcess } from '../../lib/process-identity.ts';
import { historyText, progressText } from './progress-files.ts';
import { isMissing, onDisk } from '../disk-errors.ts';
import { pathsIn, type RunPaths } from '../run-layout.ts';
import { checkpointText } from '../journal/load-run.ts';
import { recordOf, type RunOrigin } from './run-record.ts';

export type RunCreated = JournalEntry & { type: 'run.created' };

export interface NewRun {
  created: RunCreated;
  /** What follows at once. */
  then: readonly JournalEntry[];
  origin: RunOrigin;
  /** ISO 8601. */
  at: string;
  /** The run's first lines for people. */
  log: (event: JournalEvent) => string;
}

/** Names of folders whose runs are still being filled begin like this, and go on with the process that fills them. */
const UNFINISHED = '.new-';
/** Names of folders whose runs are all complete, and are being moved to their places. */
const COMPLETE = '.ready-';

/**
 * Makes the directories of runs, all of them or none, each complete from its first moment: they are filled in a folder
 * aside, whose renaming decides; whoever dies after that leaves the rest to `placeRuns`.
 */
export async function createRunFolders(runs: string, made: readonly NewRun[]): Promise<void> {
  const name = randomBytes(8).toString('hex');
  const temp = join(runs, `${UNFINISHED}${markProcess()}-${name}`);
  await onDisk(runs, async () => {
    await mkdir(temp, { recursive: true, mode: 0o700 });
    try {
      for (const run of made) {
        const dir = join(runs, run.created.runId);
        if ((await stat(dir).catch(() => undefined)) !== undefined)
          throw new HaloError('INTERNAL', `The run directory ${dir} exists already.`);
        await fill(pathsIn(join(temp, run.created.runId)), run);
      }
      await syncPath(temp);
      await reach('submit.filled');
      await rename(temp, join(runs, `${COMPLETE}${name}`));
    } catch (error) {
      await rm(temp, { recursive: true, force: true });
      throw error;
    }
    await syncPath(runs);
    await reach('submit.ready');
    await placeRuns(runs);
    await reach('submit.placed');
  });
}

/** Moves complete runs to their places: the last step of making them, which anybody may finish. */
export async function placeRuns(runs: string): Promise<void> {
  const names = await readdir(runs).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const folder of names.filter((name) => name.startsWith(COMPLETE)).map((name) => join(runs, name))) {
    for (const runId of await unlessMissing(readdir(folder), []))
      await unlessMissing(rename(join(folder, runId), join(runs, runId)), undefined);
    await syncPath(runs);
    await unlessMissing(rmdir(folder), undefined);
  }
}

/** Somebody else may be placing the same runs. */
async function unlessMissing<T>(work: Promise<T>, instead: T): Promise<T> {
  return work.catch((error: unknown) => {
    if (isMissing(error)) return instead;
    throw error;
  });
}

async function fill(paths: RunPaths, run: NewRun): Promise<void> {
  const entries = [run.created, ...run.then];
  const events = entries.map((entry, i): JournalEvent => ({ v: JOURNAL_VERSION, seq: 1 + i, at: run.at, ...entry }));
  const state = foldRun(events);
  if (state === undefined) throw new HaloError('INTERNAL', 'A run begins with run.created.');
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await mkdir(dirname(paths.checkpoint), { recursive: true, mode: 0o700 });
  await mkdir(paths.artifacts, { mode: 0o700 });
  await writeDurable(paths.journal, lines);
  await writeDurable(paths.record, toJson(recordOf(state, { ...run.origin, prd: namesOf(run.created.prd) })));
  await writeFile(paths.checkpoint, checkpointText({ state, end: Buffer.byteLength(lines) }), { mode: 0o600 });
  await writeFile(paths.raw, '', { mode: 0o600 });
  await writeFile(paths.log, events.map(run.log).join(''), { mode: 0o600 });
  await writeFile(paths.progress, progressText(state, []), { mode: 0o600 });
  await writeFile(paths.history, historyText([]), { mode: 0o600 });
  await syncPath(paths.dir);
}

/** What is known of the PRD of a run that was refused may be less, or nothing. */
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
