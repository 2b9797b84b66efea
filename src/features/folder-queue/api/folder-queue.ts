import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { HaloError, toHaloError, type ErrorCode } from '../../../core/failure/errors.ts';
import type { RunState } from '../../../core/run/state.ts';
import { isInside, pathExists, readRegularFile, writeAtomic } from '../../../lib/fs.ts';
import { sleep } from '../../../lib/async.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { parsePrd } from '../../../prd/parse-prd.ts';
import type { RunView } from '../../../api/operations/runs.ts';
import type { SubmitOptions, SubmitRequest } from '../../../api/operations/schemas.ts';
import type { Operations } from '../../../api/operations.ts';
import { archiveFile, chooseArchivePath, isEdited } from './archive-file.ts';
import { describeFailedBefore, describeFailure, runFailureOf, notePathOf } from './failure-note.ts';
import { digestOf, type FolderRecord, type FolderRecords } from './folder-records.ts';
import { scanFolder, WrittenFiles, type FolderFile } from './scan-folder.ts';

export interface FolderQueueOptions {
  operations: Pick<Operations, 'submit' | 'getRun'>;
  records: FolderRecords;
  /** The real path. */
  folder: string;
  repo: string;
  options: SubmitOptions;
  /** Continue with the next PRD after one that failed. */
  skip: boolean;
  /** Wait for new files. */
  watch: boolean;
  signal: AbortSignal;
  /** Aborted: no other PRD is begun. */
  finishing?: AbortSignal;
  /** The commit that is checked out in the repository; undefined if it is elsewhere. */
  head: () => Promise<string | undefined>;
  /** Reports progress, a sentence each. */
  say: (text: string) => Promise<void>;
  /** Called while a run is executed. */
  observe?: (view: RunView) => Promise<void>;
  /** Called when a run has ended with SUCCESS. */
  succeeded?: (state: RunState) => void;
  /** Interval between two looks at the folder, and how long a file must not change; it looks at runs more often. */
  pollMs?: number;
}

export interface FolderResult {
  done: number;
  failed: number;
}

/** How often it looks at a run between two looks at the folder: the next run begins when it has ended. */
const RUN_LOOKS = 4;

/** Errors of a PRD: the queue notes them and continues. After all others, the next PRD would fail as well. */
const OWN_ERRORS: readonly ErrorCode[] = ['PRD_INVALID', 'PRD_UNREADABLE', 'PROMPT_TOO_LARGE'];
/** After these, the request may have been received. */
const UNCERTAIN: readonly ErrorCode[] = ['API_UNREACHABLE', 'INTERNAL', 'REDIS_UNAVAILABLE', 'DISK_FAILED'];

/**
 * Runs the PRDs of a folder, one run after the other. Every step is recorded before it is taken, so that a queue that
 * was killed continues where it was, and submits nothing twice.
 */
export class FolderQueue {
  readonly #with: FolderQueueOptions;
  readonly #pollMs: number;
  /** The last message about each entry, to print each message only once. */
  readonly #said = new Map<string, string>();
  readonly #writing: WrittenFiles;
  readonly #result: FolderResult = { done: 0, failed: 0 };

  constructor(options: FolderQueueOptions) {
    this.#with = options;
    this.#pollMs = options.pollMs ?? 2000;
    this.#writing = new WrittenFiles(this.#pollMs);
  }

  /** Ends when the folder has nothing to do, or with `watch` when the signal aborts. */
  async run(): Promise<FolderResult> {
    const { signal, finishing = signal, watch, skip } = this.#with;
    while (!signal.aborted && !finishing.aborted) {
      const before = this.#result.failed;
      const next = await this.#next();
      if (this.#result.failed > before && !skip) break;
      if (next === 'wait' || (next === undefined && watch)) {
        await sleep(this.#pollMs, finishing);
        continue;
      }
      if (next === undefined) break;
      await this.#runRecord(next);
      if (this.#result.failed > before && !skip) break;
    }
    return this.#result;
  }

  /**
   * The record of the PRD to work on; `wait` if a file before the next one may still be written. No file after one that
   * failed, now or before, unless such files are skipped.
   */
  async #next(): Promise<FolderRecord | 'wait' | undefined> {
    const { records } = this.#with;
    const known = await records.all();
    const begun = [...known.values()].find(({ state }) => ['submitting', 'running', 'archiving'].includes(state));
    if (begun !== undefined) return begun;
    const { files, refused } = await scanFolder(this.#with.folder);
    for (const { name, reason } of refused) await this.#sayOnce(name, `${name} is not taken: ${reason}.`);
    const incomplete = new Set(files.filter((file) => !this.#writing.isComplete(file)).map(({ name }) => name));
    const specs = new Map<string, string>();
    for (const file of files) {
      if (incomplete.has(file.name)) return 'wait';
      const record = known.get(file.name);
      const bytes = await this.#read(file);
      if (bytes === undefined) continue;
      if (record?.state === 'stopped' && (await this.#stays(record, bytes))) {
        if (!this.#with.skip) return undefined;
        if (record.specHash !== '') specs.set(record.specHash, file.name);
        continue;
      }
      const { failed } = this.#result;
      const found = await this.#consider(file, bytes, { known, specs });
      if (found !== undefined) return found;
      if (this.#result.failed > failed && !this.#with.skip) return undefined;
    }
    return undefined;
  }

  async #read({ name, path }: FolderFile): Promise<Buffer | undefined> {
    const { folder } = this.#with;
    try {
      if (!(await isInside(folder, path))) return undefined;
      return await readRegularFile(path, MAX_PRD_BYTES);
    } catch (error) {
      await this.#sayOnce(name, `${name} cannot be read: ${(error as Error).message}.`);
      return undefined;
    }
  }

  /** Whether a PRD that failed still waits for the user: then the queue fails, unless it skips. Its run may have been retried. */
  async #stays(record: FolderRecord, bytes: Buffer): Promise<boolean> {
    const { name, runId, digest } = record;
    if (runId !== undefined) {
      const view = await this.#with.operations.getRun({ runId }).catch(() => undefined);
      if (view !== undefined && (view.state.status !== 'ended' || view.state.stopReason === 'SUCCESS')) {
        await this.#with.records.save({ ...record, state: 'running' });
        return false;
      }
    }
    const noted = await pathExists(this.#noteOf(name));
    if (noted && digest === digestOf(bytes)) {
      if (!this.#with.skip) this.#result.failed += 1;
      await this.#sayOnce(name, describeFailedBefore(record, this.#with.skip));
      return true;
    }
    await rm(this.#noteOf(name), { force: true });
    await this.#with.records.remove(name);
    return false;
  }

  /** The record of a file that can be submitted; undefined if it is refused or has nothing to do. */
  async #consider(
    { name, path }: FolderFile,
    bytes: Buffer,
    { known, specs }: { known: Map<string, FolderRecord>; specs: Map<string, string> },
  ): Promise<FolderRecord | undefined> {
    const { records, folder } = this.#with;
    const again = (await records.all()).get(name);
    if (again?.state === 'running') return again;
    const request = { key: `folder-${randomUUID()}` };
    const draft: FolderRecord = { name, state: 'submitting', specHash: '', request, content: '' };
    let prd;
    try {
      prd = parsePrd(bytes, path);
    } catch (error) {
      await this.#stop(draft, bytes, toHaloError(error));
      return undefined;
    }
    const twin = specs.get(prd.specHash);
    specs.set(prd.specHash, name);
    if (twin !== undefined) {
      await this.#sayOnce(name, `${name} is not taken: it has the same stories as ${twin}.`);
      return undefined;
    }
    for (const { state, specHash, to } of known.values()) {
      if (state !== 'done' || specHash !== prd.specHash || to === undefined || !(await pathExists(to))) continue;
      const where = to.slice(folder.length + 1);
      await this.#sayOnce(name, `${name} is not taken: it was done as ${where}. Remove that file to run it again.`);
      return undefined;
    }
    const record = { ...draft, specHash: prd.specHash, content: bytes.toString('base64') };
    if (prd.stories.some(({ status }) => status === 'pending' || status === 'in_progress')) return record;
    await this.#with.say(`${name} has nothing to do.`);
    return { ...record, state: 'archiving', to: await chooseArchivePath(folder, name) };
  }

  async #runRecord(record: FolderRecord): Promise<void> {
    if (record.state === 'archiving') return this.#archive(record);
    const isNew = record.state === 'submitting';
    if (!isNew) await this.#with.say(`${record.name}: run ${record.runId ?? ''} continues`);
    const submitted = isNew ? await this.#submit(record) : record;
    if (submitted === undefined) return;
    const state = await this.#untilEnded(submitted);
    if (state === undefined) return;
    if (state.stopReason === 'SUCCESS') {
      this.#with.succeeded?.(state);
      const to = await chooseArchivePath(this.#with.folder, record.name);
      const archiving: FolderRecord = { ...submitted, state: 'archiving', to };
      await this.#with.records.save(archiving);
      return this.#archive(archiving);
    }
    await this.#stop(submitted, await this.#contentOf(record), runFailureOf(state));
  }

  /** Undefined if the PRD was refused. */
  async #submit(record: FolderRecord): Promise<FolderRecord | undefined> {
    const { operations, records, folder, repo, options, head, say } = this.#with;
    const { name } = record;
    const isNew = record.request['repos'] === undefined;
    const at = isNew ? await head() : record.head;
    const last = await records.lastRun();
    const after = isNew && last !== undefined && last.head === at ? await this.#buildsOn(last.runId) : undefined;
    const more = { ...(after !== undefined && { after: [...(options.after ?? []), after] }), queueFolder: folder };
    const request = isNew ? { ...options, ...more, ...record.request, repos: [repo] } : record.request;
    const saved: FolderRecord = { ...record, request, head: at };
    await records.save(saved);
    const prd = { path: join(folder, name), bytes: new Uint8Array(Buffer.from(record.content, 'base64')) };
    try {
      const [run] = (await operations.submit({ ...(request as unknown as Omit<SubmitRequest, 'prd'>), prd })).runs;
      if (run === undefined) throw new HaloError('INTERNAL', 'The submit created no run.');
      // First: a record of a running PRD is not submitted again after a crash.
      if (at !== undefined) await records.saveLastRun({ runId: run.runId, head: at });
      const running: FolderRecord = { ...saved, state: 'running', runId: run.runId };
      await records.save(running);
      for (const warning of run.warnings) await say(`${name}: ${warning}`);
      await say(`${name}: run ${run.runId}${after === undefined ? '' : `, after ${after}`}`);
      return running;
    } catch (error) {
      const failure = toHaloError(error);
      if (OWN_ERRORS.includes(failure.code)) {
        await this.#stop(saved, Buffer.from(record.content, 'base64'), failure);
        return undefined;
      }
      if (!UNCERTAIN.includes(failure.code)) await records.remove(name);
      throw error;
    }
  }

  /** The last run, if its result is not on the branch of the user yet. */
  async #buildsOn(runId: string): Promise<string | undefined> {
    const view = await this.#with.operations.getRun({ runId }).catch(() => undefined);
    return view?.state.stopReason === 'SUCCESS' && view.state.landed === undefined ? runId : undefined;
  }

  /** Undefined if the signal aborted first. */
  async #untilEnded({ runId = '' }: FolderRecord): Promise<RunState | undefined> {
    const { operations, signal, observe } = this.#with;
    for (;;) {
      const view = await operations.getRun({ runId });
      if (view.state.status === 'ended') return view.state;
      await observe?.(view);
      await sleep(this.#pollMs / RUN_LOOKS, signal);
      if (signal.aborted) return undefined;
    }
  }

  async #archive(record: FolderRecord): Promise<void> {
    const { records, folder, say } = this.#with;
    const { name, to = '', specHash } = record;
    const path = join(folder, name);
    await records.save(record);
    if ((await pathExists(path)) && !(await pathExists(to)) && (await isEdited(path, specHash))) {
      await records.remove(name);
      await say(`${name} was edited during its run: it stays, and is queued again.`);
      return;
    }
    const moved = await archiveFile(path, to);
    await rm(this.#noteOf(name), { force: true });
    await records.save({ ...record, state: 'done', content: '' });
    this.#result.done += 1;
    const where = to.slice(folder.length + 1);
    await say(moved ? `${name} is done: moved to ${where}` : `${name} is done; the file is gone.`);
  }

  /** Leaves a failed PRD in the folder, with a note. */
  async #stop(record: FolderRecord, bytes: Uint8Array, error: HaloError): Promise<void> {
    const { records, say } = this.#with;
    const { name } = record;
    await writeAtomic(this.#noteOf(name), describeFailure(record, error), true);
    await records.save({ ...record, state: 'stopped', digest: digestOf(bytes) });
    this.#result.failed += 1;
    this.#said.set(name, '');
    await say(`${name} failed: ${error.message} (${basename(this.#noteOf(name))})`);
  }

  async #contentOf({ name, content }: FolderRecord): Promise<Uint8Array> {
    const now = await readRegularFile(join(this.#with.folder, name), MAX_PRD_BYTES).catch(() => undefined);
    return now ?? Buffer.from(content, 'base64');
  }

  #noteOf(name: string): string {
    return notePathOf(this.#with.folder, name);
  }

  async #sayOnce(name: string, text: string): Promise<void> {
    if (this.#said.get(name) === text || this.#said.get(name) === '') return;
    this.#said.set(name, text);
    await this.#with.say(text);
  }
}
