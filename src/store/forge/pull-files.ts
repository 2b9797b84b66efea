import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createFileOnce, createFolders, readFolder, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { isRecord } from '../../lib/guards.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** What became of sending, or of reading. */
export interface PendingPull {
  /** Why it was not sent yet. `retryAt`: ISO 8601; absent if it waits for a person. */
  failure?: { why: string; retryAt?: string };
  /** Why reviews and checks are not used, a sentence each. */
  unused?: string[];
}

/** A run, and the number of a note about it. */
const NAME = /^([0-9a-z]{15})(?:-(\d+))?\.json$/;

/**
 * A file per run: in `<home>/pull-requests` for those whose pull requests are not as they should be yet, and in
 * `<home>/pull-reviews` for those whose pull requests are open and read. What to do follows from the journals. Next to it, notes are
 * empty files with a number, `<run>-<seq>.json`: who has done what notes asked for removes these and no later ones.
 */
export class PullFiles {
  readonly #dir: string;

  constructor(home: string, folder: 'pull-requests' | 'pull-reviews' = 'pull-requests') {
    this.#dir = join(home, folder);
  }

  /** Throws DISK_FAILED. */
  async runIds(): Promise<string[]> {
    const names = await withDiskErrors(this.#dir, () => readFolder(this.#dir));
    return [...new Set(names.flatMap((name) => NAME.exec(name)?.[1] ?? []))];
  }

  async has(runId: string): Promise<boolean> {
    return (await readIfExists(this.#path(runId))) !== undefined;
  }

  /** Nothing if the file is missing or damaged: everything can be sent again. */
  async read(runId: string): Promise<PendingPull> {
    const content = tryParseJson((await readIfExists(this.#path(runId))) ?? '');
    return isRecord(content) ? content : {};
  }

  /** Durable. Throws DISK_FAILED. */
  async write(runId: string, pending: PendingPull): Promise<void> {
    await withDiskErrors(this.#dir, async () => {
      await createFolders(this.#dir, 0o700);
      await writeAtomic(this.#path(runId), `${JSON.stringify({ v: 1, ...pending })}\n`, true);
    });
  }

  /** Notes that something about a run is to be done. `seq`: of the event that is the reason. Durable. Throws DISK_FAILED. */
  async note(runId: string, seq: number): Promise<void> {
    await withDiskErrors(this.#dir, () => createFileOnce(this.#notePath(runId, seq), ''));
  }

  /** The numbers of the notes about a run. */
  async notes(runId: string): Promise<number[]> {
    const names = await withDiskErrors(this.#dir, () => readFolder(this.#dir));
    return names.flatMap((name) => {
      const [, of, seq] = NAME.exec(name) ?? [];
      return of === runId && seq !== undefined ? [Number(seq)] : [];
    });
  }

  /** Removes the file of a run, and these notes about it. */
  async done(runId: string, notes: readonly number[]): Promise<void> {
    await rm(this.#path(runId), { force: true });
    for (const seq of notes) await rm(this.#notePath(runId, seq), { force: true });
  }

  /** Removes the file of a run, and all notes. */
  async remove(runId: string): Promise<void> {
    await this.done(runId, await this.notes(runId));
  }

  #notePath(runId: string, seq: number): string {
    return join(this.#dir, `${runId}-${seq}.json`);
  }

  #path(runId: string): string {
    return join(this.#dir, `${runId}.json`);
  }
}
