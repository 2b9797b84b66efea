import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { IssueSource, SentReport } from '../core/issues/issue-source.ts';
import { createFileOnce, createFolders, pathExists, readFolder, readIfExists, writeAtomic } from '../lib/fs.ts';
import { isRecord } from '../lib/guards.ts';
import { acquireLock } from '../lib/lock.ts';
import { tryParseJson } from '../lib/parse-json.ts';
import { RUN_ID } from '../lib/run-id.ts';
import { withDiskErrors } from './disk-errors.ts';

/** Why the last reports of a run were not sent. */
interface ReportFailure {
  why: string;
  /** ISO 8601: when they are tried again. */
  retryAt: string;
}

/** What was reported to the issues of a run, by story id. */
export type SentReports = Record<string, SentReport>;

/**
 * The runs whose issues still need reports: a file each in `<home>/issue-reports`, from the start of the run until its last
 * report. What to report follows from the journal; the file only says what the forge already has.
 */
export class IssueReportFiles {
  readonly #dir: string;

  constructor(home: string) {
    this.#dir = join(home, 'issue-reports');
  }

  /** Throws DISK_FAILED. */
  async runIds(): Promise<string[]> {
    const names = await withDiskErrors(this.#dir, () => readFolder(this.#dir));
    return names.map((name) => name.replace(/\.json$/, '')).filter((name) => RUN_ID.test(name));
  }

  /** Adds a run unless it is there. Durable. Throws DISK_FAILED. */
  async add(runId: string): Promise<void> {
    if (!(await pathExists(this.#path(runId)))) await this.write(runId, {});
  }

  /** Nothing if the file is missing or damaged: a repeated label does no harm, and comments have markers. */
  async read(runId: string): Promise<SentReports> {
    const { sent } = await this.#content(runId);
    return isRecord(sent) ? (sent as SentReports) : {};
  }

  /** Why the last reports were not sent; undefined if they were, or if none was tried. */
  async readFailure(runId: string): Promise<ReportFailure | undefined> {
    const { failure } = await this.#content(runId);
    return isRecord(failure) ? (failure as unknown as ReportFailure) : undefined;
  }

  /** Whether reports of a run are left. */
  has(runId: string): Promise<boolean> {
    return pathExists(this.#path(runId));
  }

  /** Durable. Throws DISK_FAILED. */
  async write(runId: string, sent: SentReports, failure?: ReportFailure): Promise<void> {
    await withDiskErrors(this.#dir, async () => {
      await createFolders(this.#dir, 0o700);
      await writeAtomic(this.#path(runId), `${JSON.stringify({ v: 1, sent, failure })}\n`, true);
    });
  }

  async remove(runId: string): Promise<void> {
    await rm(this.#path(runId), { force: true });
  }

  async #content(runId: string): Promise<Record<string, unknown>> {
    const content = tryParseJson((await readIfExists(this.#path(runId))) ?? '');
    return isRecord(content) ? content : {};
  }

  #path(runId: string): string {
    return join(this.#dir, `${runId}.json`);
  }
}

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

/** What became of sending, or of reading. */
interface PendingPull {
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
