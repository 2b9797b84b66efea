import { rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignore } from '../lib/async.ts';
import { createFolders, readFolder, syncPath } from '../lib/fs.ts';
import { RUN_ID } from '../lib/run-id.ts';

/** A run that may not have ended. */
export interface OpenRun {
  runId: string;
  /** Whether it has started. */
  started: boolean;
}

const STARTED = '.started';
/** Longer than the step of the times that file systems record, in ms. */
const MTIME_STEP_MS = 2_000;
/** Exists once every run that has not ended has its file. */
const COMPLETE = '.complete';

/**
 * The runs of a home that may not have ended: an empty file each in `<home>/open-runs`, so that lists and workers need not
 * read the runs that have. The files are derived from the journals: a run that has not ended always has one; a run that has
 * ended may keep one if its process died. The time of the folder changes with every change of such a run.
 */
export class OpenRuns {
  readonly #dir: string;

  constructor(home: string) {
    this.#dir = join(home, 'open-runs');
  }

  /** Newest first. Undefined until `complete` was called for this home. */
  async read(): Promise<OpenRun[] | undefined> {
    const names = new Set(await readFolder(this.#dir));
    if (!names.has(COMPLETE)) return undefined;
    const ids = new Set([...names].map((name) => name.replace(STARTED, '')).filter((name) => RUN_ID.test(name)));
    const runs = [...ids].map((runId) => ({ runId, started: names.has(`${runId}${STARTED}`) }));
    return runs.sort((a, b) => (a.runId < b.runId ? 1 : -1));
  }

  /** Adds runs, durably. */
  async add(runIds: readonly string[]): Promise<void> {
    await createFolders(this.#dir, 0o700);
    for (const runId of runIds) await writeFile(join(this.#dir, runId), '', { mode: 0o600 });
    await syncPath(this.#dir);
  }

  async markStarted(runId: string): Promise<void> {
    await writeFile(join(this.#dir, `${runId}${STARTED}`), '', { mode: 0o600 });
  }

  /** Removes a run that has ended. Call it while the run is locked, so that it is not reopened meanwhile. */
  async remove(runId: string): Promise<void> {
    await rm(join(this.#dir, `${runId}${STARTED}`), { force: true });
    await rm(join(this.#dir, runId), { force: true });
  }

  /** Records that every run that has not ended has been added. */
  async complete(): Promise<void> {
    await this.add([]);
    await writeFile(join(this.#dir, COMPLETE), '', { mode: 0o600 });
  }

  /** Call it after an open run has changed, so that `changedAt` changes. */
  async touch(): Promise<void> {
    const now = new Date();
    await utimes(this.#dir, now, now).catch(ignore);
  }

  /**
   * When a run was added, changed or removed last, in ms since 1970; 0 if there never was one. NaN shortly after a change,
   * because another one may have the same time.
   */
  async changedAt(): Promise<number> {
    const at = (await stat(this.#dir).catch(() => undefined))?.mtimeMs ?? 0;
    return Math.abs(Date.now() - at) < MTIME_STEP_MS ? Number.NaN : at;
  }
}
