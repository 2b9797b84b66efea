import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SentReport } from '../../core/issues/issue-report.ts';
import { createFolders, pathExists, readFolder, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { isRecord } from '../../lib/guards.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** Why the last reports of a run were not sent. */
export interface ReportFailure {
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
