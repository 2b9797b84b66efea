import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import type { Artifact } from '../core/artifact.ts';
import type { JournalEntry, JournalEvent } from '../core/journal/events.ts';
import type { RunState } from '../core/run-state.ts';
import { writeAtomic } from '../lib/atomic-write.ts';
import { maskInto } from '../lib/secrets/masking-sink.ts';
import { openMasker, type Masker } from '../lib/secrets/masker.ts';
import {
  amendRecord,
  appendToRun,
  freshenRun,
  readConstants,
  type Append,
  type Decision,
} from './journal/append-events.ts';
import { listArtifacts, readAnyArtifact } from './artifacts.ts';
import { createRunFolders, placeRuns, type NewRun, type RunCreated } from './run/create-run.ts';
import { dropBundle, writeBundle, type BundleFacts } from './run/debug-bundle.ts';
import { asDiskError, onDisk } from './disk-errors.ts';
import { openFileSink } from './file-sink.ts';
import { findRun, listRuns, runIds, type RunList } from './run/run-list.ts';
import {
  followJournal,
  followRawOutput,
  followState,
  type FollowJournal,
  type FollowRaw,
} from './journal/follow-run-files.ts';
import { artifactPath, runPaths, runsFolder, type AttemptPlace } from './run-layout.ts';
import { loadEvents, loadRun, type Folded } from './journal/load-run.ts';
import { maskEntry } from './journal/mask-event.ts';
import { openRawOutput } from './journal/raw-output.ts';
import { recordOf, type RunConstants, type RunOrigin } from './run/run-record.ts';

/** The run directories of one HALO_HOME. Every function may throw DISK_FAILED, and RUN_NOT_FOUND for its run. */
export interface Store {
  createRun(created: RunCreated, origin: RunOrigin): Promise<void>;
  /** Makes the directory of a run that has ended already. */
  createEnded(created: RunCreated, end: JournalEntry & { type: 'run.ended' }, origin: RunOrigin): Promise<void>;
  /** Makes the directories of runs: all of them, complete, or none. */
  createRuns(runs: readonly { created: RunCreated; origin: RunOrigin }[]): Promise<void>;
  /** Finishes what a process left that died while it made runs. */
  placeRuns(): Promise<void>;
  /** Adds to the journal; several processes may append to one run. Durable when it resolves. */
  append(runId: string, entries: readonly JournalEntry[]): Promise<JournalEvent[]>;
  /**
   * Decides under the run's lock, on its state as of the last event of any process, and appends what was decided
   * before the lock is let go. `decide` may do other things that belong together with its entries, such as moving a
   * ref; it must not append to the run itself. What it throws is thrown on, and nothing is appended.
   */
  transact<T>(runId: string, decide: (state: RunState) => Decision<T> | Promise<Decision<T>>): Promise<T>;
  /** Notes in run.json what was not known at the creation, such as the agent's version. */
  amend(runId: string, change: RunConstants): Promise<void>;
  /** Writes anew what a process that died left behind the end of its run. */
  freshen(runId: string): Promise<void>;
  readState(runId: string): Promise<RunState>;
  /** What run.json says, as of the journal's last event. */
  readRecord(runId: string): Promise<Record<string, unknown>>;
  readJournal(runId: string): Promise<JournalEvent[]>;
  /** Size of the journal in bytes: another one says that something happened. 0 when it cannot be read. */
  journalBytes(runId: string): Promise<number>;
  /** progress.md as it is. */
  readProgress(runId: string): Promise<string>;
  /** Ids of all runs, newest first. */
  runIds(): Promise<string[]>;
  list(): Promise<RunList>;
  /** The run whose id begins with `prefix`. Throws RUN_NOT_FOUND with the candidates. */
  find(part: string): Promise<string>;
  follow(runId: string, options: FollowJournal): AsyncIterable<JournalEvent>;
  followRaw(runId: string, options: FollowRaw): AsyncIterable<Uint8Array>;
  /** The state of the run, now and after each change by any process; ends on abort alone. */
  followState(runId: string, signal: AbortSignal): AsyncIterable<RunState>;
  /** A stream that keeps an agent's raw output; end it, or destroy it, when the agent is gone. */
  openRaw(place: AttemptPlace): Writable;
  /** Absolute path of the run's directory. */
  runFolder(runId: string): string;
  /** Where an artifact is or would be; its folder is not made. */
  artifactPath(place: AttemptPlace, name: string): string;
  /** Writes an artifact as a whole, and returns its path within the run directory. */
  writeArtifact(place: AttemptPlace, name: string, data: string | Uint8Array): Promise<string>;
  /** Writes `diff.patch`, in which only known secrets are masked: what looks like one may be code. */
  writePatch(place: AttemptPlace, patch: Uint8Array): Promise<void>;
  /** A stream that fills an artifact, for output as it comes. */
  openArtifact(place: AttemptPlace, name: string): Writable;
  /** The text of an artifact, or undefined when there is none of that name. */
  readArtifact(place: AttemptPlace, name: string): Promise<string | undefined>;
  /** What the attempts of a run left below artifacts/, in the order of the paths. */
  listArtifacts(runId: string): Promise<Artifact[]>;
  /** One of those files, by its path below artifacts/. Throws ARTIFACT_UNREADABLE. */
  readAnyArtifact(runId: string, path: string): Promise<Buffer>;
  /** Fills debug_bundle/ after a failure, and returns its path. */
  writeDebugBundle(runId: string, facts: BundleFacts): Promise<string>;
  dropDebugBundle(runId: string): Promise<void>;
}

export interface StoreOptions {
  /** The lines of agent.log for an event; elapsed time counts from `startedAt`, ISO 8601. */
  transcribe: (event: JournalEvent, startedAt: string, how: { runId: string }) => string[];
  now?: () => Date;
  /** Everything that is written goes through it; by default it knows only what looks like a secret. */
  masker?: Masker;
}

/** Opens the store under `home`, an absolute path. Nothing is written before the first run. */
export function openStore(home: string, options: StoreOptions): Store {
  const { masker = openMasker(), now = () => new Date() } = options;
  const known = new Map<string, Folded>();
  const inLine = lineUp();
  const log = (runId: string) => (event: JournalEvent, startedAt: string) =>
    options
      .transcribe(event, startedAt, { runId })
      .map((line) => `${masker.text(line)}\n`)
      .join('');
  const paths = (runId: string) => runPaths(home, runId);
  const decideInLine = <T>(runId: string, propose: Append<T>['decide']) =>
    inLine(runId, async () => {
      const decide = async (state: RunState) => {
        const { entries, result } = await propose(state);
        return { entries: entries.map((entry) => maskEntry(masker, entry)), result };
      };
      const appended = await appendToRun(paths(runId), { decide, known: known.get(runId), now, log: log(runId) });
      if (appended.state.status === 'ended') known.delete(runId);
      else known.set(runId, { state: appended.state, end: appended.end });
      return appended;
    });

  const makeRuns = (runs: readonly (Pick<NewRun, 'created' | 'origin'> & Partial<Pick<NewRun, 'then'>>)[]) => {
    const at = now().toISOString();
    return createRunFolders(
      runsFolder(home),
      runs.map(({ created, origin, then = [] }) => ({
        created: maskEntry(masker, created),
        then: then.map((entry) => maskEntry(masker, entry)),
        // The configuration is what the run goes by: it names where secrets are, and holds none.
        origin: { ...origin, args: masker.value(origin.args) },
        at,
        log: (event) => log(created.runId)(event, at),
      })),
    );
  };

  return {
    createRun: (created, origin) => makeRuns([{ created, origin }]),
    createEnded: (created, end, origin) => makeRuns([{ created, origin, then: [end] }]),
    createRuns: makeRuns,
    placeRuns: () => placeRuns(runsFolder(home)),
    append: async (runId, entries) => (await decideInLine(runId, () => ({ entries, result: undefined }))).events,
    transact: async (runId, decide) => (await decideInLine(runId, decide)).result,
    amend: (runId, change) => inLine(runId, () => amendRecord(paths(runId), change)),
    freshen: (runId) => inLine(runId, () => freshenRun(paths(runId))),
    readState: async (runId) => (await loadRun(paths(runId))).state,
    readRecord: async (runId) => {
      const [{ state }, constants] = await Promise.all([loadRun(paths(runId)), readConstants(paths(runId))]);
      return recordOf(state, constants);
    },
    readJournal: async (runId) => loadEvents(paths(runId)),
    journalBytes: async (runId) => (await stat(paths(runId).journal).catch(() => ({ size: 0 }))).size,
    readProgress: async (runId) => readText(paths(runId).progress),
    runIds: () => runIds(home),
    list: () => listRuns(home),
    find: (part) => findRun(home, part),
    follow: (runId, how) => followJournal(paths(runId), how),
    followRaw: (runId, how) => followRawOutput(paths(runId), how),
    followState: (runId, signal) => followState(paths(runId), signal),
    openRaw: (place) =>
      maskInto(masker, openRawOutput(artifactPath(home, place, 'events.jsonl'), paths(place.runId).raw)),
    runFolder: (runId) => paths(runId).dir,
    artifactPath: (place, name) => artifactPath(home, place, name),
    async writeArtifact(place, name, data) {
      const path = artifactPath(home, place, name);
      await writeInFolder(path, typeof data === 'string' ? masker.text(data) : masker.bytes(data));
      return path.slice(paths(place.runId).dir.length + 1);
    },
    writePatch: (place, patch) => writeInFolder(artifactPath(home, place, 'diff.patch'), masker.known(patch)),
    openArtifact: (place, name) => maskInto(masker, openFileSink(artifactPath(home, place, name))),
    readArtifact: (place, name) => readIfThere(artifactPath(home, place, name)),
    listArtifacts: (runId) => listArtifacts(paths(runId)),
    readAnyArtifact: (runId, path) => readAnyArtifact(paths(runId), path),
    writeDebugBundle: async (runId, facts) => writeBundle(paths(runId), facts, masker),
    dropDebugBundle: (runId) => dropBundle(paths(runId)),
  };
}

function writeInFolder(path: string, data: string | Uint8Array): Promise<void> {
  return onDisk(path, async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeAtomic(path, data);
  });
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw asDiskError(path, error);
  });
}

function readText(path: string): Promise<string> {
  return onDisk(path, () => readFile(path, 'utf8'));
}

/** Runs the work of one key one after the other, in the order of the calls. */
function lineUp(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(work, work);
    const tail = turn.then(
      () => undefined,
      () => undefined,
    );
    tails.set(key, tail);
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    return turn;
  };
}
