import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../core/errors.ts';
import { JOURNAL_VERSION, type JournalEntry, type JournalEvent } from '../core/events.ts';
import { foldRun } from '../core/run-state.ts';
import { syncFolder } from '../lib/atomic-write.ts';
import { historyText, progressText } from './chronicle.ts';
import { onDisk } from './disk.ts';
import { pathsIn, type RunPaths } from './layout.ts';
import { checkpointText } from './load.ts';
import { recordOf, type RunOrigin } from './run-record.ts';

export type RunCreated = JournalEntry & { type: 'run.created' };

export interface NewRun {
  created: RunCreated;
  origin: RunOrigin;
  /** ISO 8601. */
  at: string;
  /** The run's first lines for people. */
  log: (event: JournalEvent) => string;
}

/** Names of folders that are still being filled begin like this. */
const UNFINISHED = '.new-';

/** Makes a run directory that is complete from its first moment: filled under another name, then renamed. */
export async function createRunFolder(paths: RunPaths, run: NewRun): Promise<JournalEvent> {
  const event: JournalEvent = { v: JOURNAL_VERSION, seq: 1, at: run.at, ...run.created };
  const runs = dirname(paths.dir);
  const temp = join(runs, `${UNFINISHED}${run.created.runId}-${randomBytes(4).toString('hex')}`);
  await onDisk(paths.dir, async () => {
    await mkdir(runs, { recursive: true, mode: 0o700 });
    if ((await stat(paths.dir).catch(() => undefined)) !== undefined)
      throw new HaloError('INTERNAL', `The run directory ${paths.dir} exists already.`);
    try {
      await fill(pathsIn(temp), event, run);
      await rename(temp, paths.dir);
    } catch (error) {
      await rm(temp, { recursive: true, force: true });
      throw error;
    }
    await syncFolder(runs);
  });
  return event;
}

async function fill(paths: RunPaths, event: JournalEvent, run: NewRun): Promise<void> {
  const state = foldRun([event]);
  if (state === undefined) throw new HaloError('INTERNAL', 'A run begins with run.created.');
  const { hash, specHash, dialect } = run.created.prd;
  const line = `${JSON.stringify(event)}\n`;
  await mkdir(dirname(paths.checkpoint), { recursive: true, mode: 0o700 });
  await mkdir(paths.artifacts, { mode: 0o700 });
  await writeDurable(paths.journal, line);
  await writeDurable(paths.record, toJson(recordOf(state, { ...run.origin, prd: { hash, specHash, dialect } })));
  await writeFile(paths.checkpoint, checkpointText({ state, end: Buffer.byteLength(line) }), { mode: 0o600 });
  await writeFile(paths.raw, '', { mode: 0o600 });
  await writeFile(paths.log, run.log(event), { mode: 0o600 });
  await writeFile(paths.progress, progressText(state, []), { mode: 0o600 });
  await writeFile(paths.history, historyText([]), { mode: 0o600 });
  await syncFolder(paths.dir);
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
