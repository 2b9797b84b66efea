import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { IssueSource } from '../../core/issues/issue-source.ts';
import { createFolders, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { acquireLock } from '../../lib/lock.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** Another submit of the same issues may wait for a rate limit of the forge. */
const LOCK_WAIT_MS = 20 * 60_000;
/** The last line of the file. */
const END = 'end';

/**
 * The runs of the issues of one project: a file in `<home>/issue-runs` with an id on each line, so that a submit need not
 * read all runs of the home. It is derived from the journals, and may name runs that were not created or have been removed.
 */
export class IssueRuns {
  readonly #path: string;

  constructor(home: string, { forge, project }: Pick<IssueSource, 'forge' | 'project'>) {
    const name = createHash('sha256').update(`${forge}:${project.toLowerCase()}`).digest('hex');
    this.#path = join(home, 'issue-runs', `${name}.txt`);
  }

  /** Runs `work` while no other process submits issues of this project. Throws DISK_FAILED, and what `work` throws. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const lock = await withDiskErrors(this.#path, () =>
      acquireLock(`${this.#path}.lock`, { waitMs: LOCK_WAIT_MS, makeFolder: true }),
    );
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  /** In the order in which they were added. Undefined if the list is missing or damaged. Throws DISK_FAILED. */
  async read(): Promise<string[] | undefined> {
    const text = await withDiskErrors(this.#path, () => readIfExists(this.#path));
    const lines = text?.split('\n') ?? [];
    const runIds = lines.slice(0, -2);
    const isWhole = lines.at(-2) === END && runIds.every((line) => RUN_ID.test(line));
    return isWhole ? runIds : undefined;
  }

  /** Replaces the list. Durable. Call it from `exclusively`. Throws DISK_FAILED. */
  async write(runIds: readonly string[]): Promise<void> {
    const text = [...runIds, END].map((line) => `${line}\n`).join('');
    await withDiskErrors(this.#path, async () => {
      await createFolders(dirname(this.#path), 0o700);
      await writeAtomic(this.#path, text, true);
    });
  }
}
