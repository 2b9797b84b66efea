import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolders, readFolder, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { isRecord } from '../../lib/guards.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** What is to be sent about a run, or was read about it. */
export interface PendingPull {
  /** `seq` of the event because of which it is sent. */
  seq?: number;
  /** Why it was not sent yet. `retryAt`: ISO 8601. */
  failure?: { why: string; retryAt: string };
  /** Why reviews and checks are not used, a sentence each. */
  unused?: string[];
}

/**
 * A file per run: in `<home>/pull-requests` for those whose pull requests are not as they should be yet, and in
 * `<home>/pull-reviews` for those whose pull requests are open and read. What to do follows from the journals.
 */
export class PullFiles {
  readonly #dir: string;

  constructor(home: string, folder: 'pull-requests' | 'pull-reviews' = 'pull-requests') {
    this.#dir = join(home, folder);
  }

  /** Throws DISK_FAILED. */
  async runIds(): Promise<string[]> {
    const names = await withDiskErrors(this.#dir, () => readFolder(this.#dir));
    return names.map((name) => name.replace(/\.json$/, '')).filter((name) => RUN_ID.test(name));
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

  async remove(runId: string): Promise<void> {
    await rm(this.#path(runId), { force: true });
  }

  #path(runId: string): string {
    return join(this.#dir, `${runId}.json`);
  }
}
