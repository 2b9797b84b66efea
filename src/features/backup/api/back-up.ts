import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, lstat, open, realpath, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import { JOURNAL_VERSION } from '../../../core/journal/event-parts.ts';
import { isOver } from '../../../core/run/questions.ts';
import type { RunState } from '../../../core/run/state.ts';
import { isUrl } from '../../../git/repository/repo-url.ts';
import { failpoint } from '../../../lib/failpoint.ts';
import { readFolder, readIfExists, syncPath } from '../../../lib/fs.ts';
import { isOrphaned, processMark } from '../../../lib/process-identity.ts';
import { haloVersion } from '../../../lib/version.ts';
import { readHomeId } from '../../../queue/redis/connect-redis.ts';
import { withDiskErrors } from '../../../store/disk-errors.ts';
import { listWorkers } from '../../../store/process-registry.ts';
import { FORMAT, type BackupHeader } from '../core/archive.ts';
import { entriesOf, readingOf } from '../core/home-entries.ts';
import { readPackedRefs, readRunRefs, withPacks, type RunRefs } from '../git/packed-repository.ts';
import { cutRun, findFiles, findRunFiles, listRuns, openFile } from '../store/read-home.ts';
import { writeArchive, type ArchiveSize, type ArchiveWriter } from '../store/write-archive.ts';

export interface BackupRequest {
  /** HALO_HOME, absolute. */
  home: string;
  /** With what retention may remove of ended runs. */
  artifacts: boolean;
  /** With the token of the server and the keys of engines. */
  keys: boolean;
  signal: AbortSignal;
  /** Called from time to time with what is saved so far. */
  onProgress: (done: { runs: number; ofRuns: number; bytes: number }) => void;
}

/** What a backup has. */
export interface BackupReport {
  header: BackupHeader;
  files: number;
  /** Of the files, uncompressed. */
  bytes: number;
  runs: number;
  /** Of these, runs that have not ended. */
  open: number;
  repositories: number;
  /** What could not be saved, or only as the damaged file that it is. */
  failed: { what: string; error: string }[];
  /** Paths below the home that are not halo's. */
  leftOut: string[];
}

/**
 * Writes a backup of a HALO_HOME into `sink`, while halo works. Each run is as it was at one moment; what follows from
 * journals is read after them. Throws USAGE, DISK_FAILED, RUN_ABORTED.
 */
export async function backUp(request: BackupRequest, sink: Writable): Promise<BackupReport> {
  const { home, artifacts, keys, signal } = request;
  const header: BackupHeader = {
    format: FORMAT,
    halo: haloVersion(),
    journal: JOURNAL_VERSION,
    home: { id: await requireHomeId(home), host: hostname(), path: await realpath(home) },
    at: new Date().toISOString(),
    workers: (await listWorkers(home)).length,
    keys,
    artifacts,
  };
  const archive = await writeArchive(sink, header, signal);
  const backup = new Backup(request, archive);
  const size = await backup.write().catch((error: unknown) => {
    throw signal.aborted ? new HaloError('RUN_ABORTED', 'The backup was stopped.', { cause: error }) : error;
  });
  const unknown = (await readFolder(home)).filter((name) => readingOf(name) === undefined && !name.startsWith('.'));
  return { header, ...size, ...backup.counts, leftOut: [...unknown, ...backup.leftOut] };
}

async function requireHomeId(home: string): Promise<string> {
  if ((await readFolder(home)).some((name) => readingOf(name) !== undefined)) return readHomeId(home);
  throw new HaloError('USAGE', `There is no HALO_HOME in ${home}.`, {
    hint: 'Set HALO_HOME to the folder of the server, as the user who runs it.',
  });
}

class Backup {
  readonly counts = { runs: 0, open: 0, repositories: 0, failed: [] as BackupReport['failed'] };
  readonly leftOut: string[] = [];
  /** The refs of open runs at their moments, by mirror and run. */
  readonly #cuts = new Map<string, Map<string, RunRefs>>();
  readonly #request: BackupRequest;
  readonly #archive: ArchiveWriter;
  #bytes = 0;

  constructor(request: BackupRequest, archive: ArchiveWriter) {
    this.#request = request;
    this.#archive = archive;
  }

  /** Writes everything, in the order that makes it consistent. */
  async write(): Promise<ArchiveSize> {
    const secrets = this.#request.keys ? entriesOf('secret') : [];
    for (const entry of [...entriesOf('first'), ...secrets]) await this.#addEntry(entry);
    await this.#addRuns();
    for (const entry of entriesOf('last')) await this.#addEntry(entry);
    await this.#addRepositories();
    return this.#archive.finish();
  }

  async #addEntry(entry: string): Promise<void> {
    const { files, strange } = await findFiles(this.#request.home, entry);
    this.leftOut.push(...strange);
    for (const path of files) await this.#addFile(path);
  }

  async #addRuns(): Promise<void> {
    const { home, onProgress } = this.#request;
    const runIds = await listRuns(home);
    for (const runId of runIds) {
      await this.#addRun(runId);
      onProgress({ runs: this.counts.runs, ofRuns: runIds.length, bytes: this.#bytes });
    }
  }

  async #addRun(runId: string): Promise<void> {
    const { home, artifacts } = this.#request;
    const cut = await cutRun(home, runId, async (state) =>
      isSettled(state) ? undefined : readRunRefs({ home, name: state.repo.mirror }, runId),
    );
    if (cut === undefined) return;
    const { state, error, files, more } = cut;
    for (const { path, file } of files) await this.#add(path, file);
    const isOpen = state === undefined || !isOver(state);
    this.counts.runs += 1;
    if (isOpen) this.counts.open += 1;
    if (error !== undefined) this.counts.failed.push({ what: runId, error: error.message });
    if (state !== undefined && more !== undefined) {
      const cuts = this.#cuts.get(state.repo.mirror) ?? new Map<string, RunRefs>();
      this.#cuts.set(state.repo.mirror, cuts.set(runId, more));
    }
    await this.#addRunFiles(runId, artifacts || state === undefined || !isSettled(state));
  }

  /** When a run ends, a worker replaces files by compressed ones: what takes the place of a missing file is saved. */
  async #addRunFiles(runId: string, artifacts: boolean): Promise<void> {
    const seen = new Set<string>();
    for (let isMissing = true; isMissing;) {
      isMissing = false;
      const { files, strange } = await findRunFiles(this.#request.home, runId, { artifacts });
      if (seen.size === 0) this.leftOut.push(...strange);
      for (const path of files.filter((each) => !seen.has(each))) {
        seen.add(path);
        if (!(await this.#addFile(path))) isMissing = true;
      }
    }
  }

  async #addRepositories(): Promise<void> {
    const { home } = this.#request;
    for (const name of (await readFolder(join(home, 'repos'))).sort()) {
      if (name.startsWith('.')) continue;
      try {
        if (await this.#addRepository(name)) this.counts.repositories += 1;
      } catch (error) {
        const { code, message } = toHaloError(error);
        if (code !== 'GIT_FAILED') throw error;
        this.counts.failed.push({ what: `repos/${name}`, error: message });
      }
    }
  }

  async #addRepository(name: string): Promise<boolean> {
    const { home, signal } = this.#request;
    const [place, dir] = [{ home, name }, `repos/${name}`];
    const source = (await readIfExists(join(home, dir, 'source')))?.trim();
    const isOnlyCopy = source === undefined || isUrl(source);
    const refs = await readPackedRefs(place, { cuts: this.#cuts.get(name) ?? new Map(), isOnlyCopy });
    if (refs === undefined) return false;
    const use = (kind: string, at: string, bytes: number) =>
      this.#add(`${dir}/${kind}.pack`, { bytes, mtimeMs: Date.now(), content: createReadStream(at) });
    await withPacks(place, refs, { signal, use });
    // Last: packs without it, because git could not write all of them, are not restored.
    const text = Buffer.from(`${JSON.stringify(refs)}\n`);
    await this.#add(`${dir}/refs.json`, { bytes: text.length, mtimeMs: Date.now(), content: [text] });
    await this.#addFile(`${dir}/source`);
    return true;
  }

  /** Returns whether the file existed. */
  async #addFile(path: string): Promise<boolean> {
    const file = await openFile(this.#request.home, path, { wholeLines: path.startsWith('access.jsonl') });
    if (file === undefined) return false;
    await this.#add(path, file);
    return true;
  }

  async #add(path: string, file: Parameters<ArchiveWriter['add']>[1]): Promise<void> {
    this.#request.signal.throwIfAborted();
    await this.#archive.add(path, file);
    this.#bytes += file.bytes;
  }
}

/** Whether nothing of a run moves any longer, unless a person retries it: it has ended, and no commit of it is held. */
function isSettled(state: RunState): boolean {
  return isOver(state) && state.stories.every(({ held }) => held === undefined);
}

/** A file that gets its name when it is complete and on the disk. */
const TEMPORARY = '.halo-backup.new-';

/**
 * Writes a backup to a file that does not exist, readable only by its owner; it has its name only when it is complete. What
 * killed backups left in its folder is removed. Throws like `backUp`.
 */
export async function backUpToFile(request: BackupRequest, path: string): Promise<BackupReport> {
  return withDiskErrors(path, async () => {
    await assertFree(path);
    const dir = dirname(path);
    await removeUnfinished(dir);
    const aside = join(dir, `${TEMPORARY}${processMark()}-${randomBytes(4).toString('hex')}`);
    await (await open(aside, 'ax', 0o600)).close();
    try {
      const report = await backUp(request, createWriteStream(aside));
      await syncPath(aside);
      await failpoint('backup.written');
      await link(aside, path).catch(async (error: unknown) => {
        await assertFree(path);
        throw error;
      });
      await syncPath(dir);
      return report;
    } finally {
      await rm(aside, { force: true });
    }
  });
}

async function assertFree(path: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined)) === undefined) return;
  throw new HaloError('USAGE', `${path} exists already.`, { hint: 'Name a new file: a backup replaces none.' });
}

async function removeUnfinished(dir: string): Promise<void> {
  for (const name of (await readFolder(dir)).filter((each) => each.startsWith(TEMPORARY))) {
    const mark = name.slice(TEMPORARY.length).replace(/-[0-9a-f]{8}$/, '');
    const madeMs = (await lstat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? NaN;
    if (isOrphaned(mark, madeMs)) await rm(join(dir, name), { force: true });
  }
}
