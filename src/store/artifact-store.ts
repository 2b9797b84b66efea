import { createWriteStream, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Artifact } from '../core/journal/event-parts.ts';
import { createFolders, readStream, writeAtomic } from '../lib/fs.ts';
import { maskingSink, type Masker } from '../lib/secrets/masker.ts';
import { toDiskError, withDiskErrors } from './disk-errors.ts';
import {
  followLogSize,
  followRawOutput,
  type FollowLogOptions,
  type FollowOutputOptions,
} from './journal/follow-run-files.ts';
import { artifactPath, runPaths, type AttemptLocation } from './run-layout.ts';
import { listArtifacts, openArtifactFile, readArtifactEnd, readArtifactFile } from './run/artifacts.ts';
import { emptyDebugBundle, writeDebugBundle, type BundleFacts } from './run/debug-bundle.ts';
import { LogReader, type LogLines, type LogMatches } from './run/log-lines.ts';
import { openRawOutput, type OnLines } from './run/raw-output.ts';
import { findContent, readChunks } from './run/stored-file.ts';

/** The files that attempts produce. Every function may throw DISK_FAILED, and RUN_NOT_FOUND for its run. */
export interface ArtifactStore {
  /** The path of an artifact, whether or not it exists. Its folder is not created. */
  artifactPath(location: AttemptLocation, name: string): string;
  /**
   * Writes an artifact atomically and returns its path relative to the run directory. With `durable`, it is on the disk
   * when this resolves.
   */
  writeArtifact(
    location: AttemptLocation,
    name: string,
    data: string | Uint8Array,
    how?: { durable: boolean },
  ): Promise<string>;
  /** Writes `diff.patch`. Only known secrets are masked in it, because text that looks like a secret may be code. */
  writePatch(location: AttemptLocation, patch: Uint8Array): Promise<void>;
  /**
   * Creates the folder of an artifact, whose file `write` then makes at the path that it gets. Nothing is masked: only for
   * commits, which contain no known secret.
   */
  placeArtifact(location: AttemptLocation, name: string, write: (path: string) => Promise<void>): Promise<void>;
  /** Opens a stream that writes an artifact. It fails, and touches no file, if `mayWrite` throws. */
  openArtifact(location: AttemptLocation, name: string, mayWrite?: () => Promise<void>): Writable;
  /** The text of an artifact, or undefined when it does not exist. */
  readArtifact(location: AttemptLocation, name: string): Promise<string | undefined>;
  /** Copies an artifact to a path outside of the run directory. */
  copyArtifact(location: AttemptLocation, name: string, target: string): Promise<void>;
  /**
   * Opens a stream that keeps an agent's raw output and passes its lines on, both masked. End or destroy it when the agent
   * has exited. `mayWrite`: as above.
   */
  openRaw(location: AttemptLocation, onLines?: OnLines, mayWrite?: () => Promise<void>): Writable;
  followRaw(runId: string, options: FollowOutputOptions): AsyncIterable<Uint8Array>;
  /** The artifacts of a run and the files of its debug bundle, sorted by path. */
  listArtifacts(runId: string): Promise<Artifact[]>;
  /** Reads one of the files that `listArtifacts` returns. Throws ARTIFACT_UNREADABLE. */
  readArtifactFile(runId: string, path: string): Promise<Buffer>;
  /** Reads the last 64 KiB of such a file. Throws ARTIFACT_UNREADABLE. */
  readArtifactEnd(runId: string, path: string): Promise<Buffer>;
  /** The content of such a file of any size, in chunks. Throws ARTIFACT_UNREADABLE. */
  streamArtifact(runId: string, path: string): Promise<AsyncIterable<Buffer>>;
  /** Reads lines of such a file of any size. Throws ARTIFACT_UNREADABLE. */
  readLogLines(runId: string, path: string, range: { from: number; count: number }): Promise<LogLines>;
  /** Finds lines of such a file: `findIn` gets complete lines and returns the numbers of those that match, from 0. */
  searchLog(runId: string, path: string, findIn: (lines: Buffer) => Iterable<number>): Promise<LogMatches>;
  /**
   * Yields the size of such a file now and, with `follow`, each time that it has grown, until the signal aborts. It may be
   * created later.
   */
  followLog(runId: string, path: string, how: FollowLogOptions): AsyncIterable<{ lines: number; bytes: number }>;
  /** Writes debug_bundle/ after a failure and returns its path. */
  writeDebugBundle(runId: string, facts: BundleFacts): Promise<string>;
  dropDebugBundle(runId: string): Promise<void>;
}

/** Opens the artifacts of the runs below `home`, an absolute path. The masker masks everything that is written. */
export function openArtifactStore(
  home: string,
  masker: Masker,
  output: { storeBytes?: number | undefined },
): ArtifactStore {
  const paths = (runId: string) => runPaths(home, runId);
  const logs = new LogReader();
  return {
    artifactPath: (location, name) => artifactPath(home, location, name),
    async writeArtifact(location, name, data, { durable } = { durable: false }) {
      const path = artifactPath(home, location, name);
      await writeInFolder(path, typeof data === 'string' ? masker.text(data) : masker.bytes(data), durable);
      return path.slice(paths(location.runId).dir.length + 1);
    },
    writePatch: (location, patch) => writeInFolder(artifactPath(home, location, 'diff.patch'), masker.known(patch)),
    placeArtifact(location, name, write) {
      const path = artifactPath(home, location, name);
      return withDiskErrors(path, async () => {
        await createFolders(dirname(path), 0o700);
        await write(path);
      });
    },
    openArtifact: (location, name, mayWrite) =>
      maskingSink(masker, openFileSink(artifactPath(home, location, name), mayWrite)),
    readArtifact(location, name) {
      const path = artifactPath(home, location, name);
      return withDiskErrors(path, async () => {
        const content = await findContent(path);
        return content && (await readStream(readChunks(content), Infinity)).toString();
      });
    },
    copyArtifact(location, name, target) {
      const path = artifactPath(home, location, name);
      return withDiskErrors(path, async () => {
        const content = (await findContent(path)) ?? { path, isStored: false };
        await pipeline(readChunks(content), createWriteStream(target, { mode: 0o600 }));
      });
    },
    openRaw: (location, onLines, mayWrite) => {
      const files = { own: artifactPath(home, location, 'events.jsonl'), shared: paths(location.runId).raw };
      return maskingSink(masker, openRawOutput({ ...files, ...output, onLines, mayWrite }));
    },
    followRaw: (runId, how) => followRawOutput(paths(runId), how),
    listArtifacts: (runId) => listArtifacts(paths(runId)),
    readArtifactFile: (runId, path) => readArtifactFile(paths(runId), path),
    readArtifactEnd: (runId, path) => readArtifactEnd(paths(runId), path),
    streamArtifact: async (runId, path) => readChunks(await openArtifactFile(paths(runId), path)),
    readLogLines: async (runId, path, { from, count }) =>
      logs.readLines(await openArtifactFile(paths(runId), path), from, count),
    searchLog: async (runId, path, findIn) => logs.search(await openArtifactFile(paths(runId), path), findIn),
    followLog: (runId, path, how) => followLogSize({ paths: paths(runId), logs }, path, how),
    writeDebugBundle: async (runId, facts) => writeDebugBundle(paths(runId), facts, masker),
    dropDebugBundle: (runId) => emptyDebugBundle(paths(runId)),
  };
}

function writeInFolder(path: string, data: string | Uint8Array, durable = false): Promise<void> {
  return withDiskErrors(path, async () => {
    await createFolders(dirname(path), 0o700);
    await writeAtomic(path, data, durable);
  });
}

/**
 * Opens a stream that writes a new file, readable by its owner only, and creates the folder. An existing file is
 * unlinked, not overwritten: processes that have it open keep its content. The stream fails with DISK_FAILED, and with
 * the error of `mayWrite`, which is called first.
 */
export function openFileSink(path: string, mayWrite?: () => Promise<void>): Writable {
  let file: FileHandle | undefined;
  const begin = async () => {
    await mayWrite?.();
    await createFolders(dirname(path), 0o700);
    rmSync(path, { force: true });
    return open(path, 'wx', 0o600);
  };
  const report = (done: (error?: Error | null) => void) => (error: unknown) => done(toDiskError(path, error) as Error);
  return new Writable({
    construct: (done) =>
      void Promise.resolve()
        .then(begin)
        .then((opened) => {
          file = opened;
          done();
        }, report(done)),
    write: (chunk: Buffer, _encoding, done) =>
      void file?.writeFile(chunk).then(() => {
        done();
      }, report(done)),
    destroy: (error, done) => void Promise.resolve(file?.close()).then(() => done(error), report(done)),
  });
}
