import { stat } from 'node:fs/promises';
import type { JournalEntry, JournalEvent } from '../core/journal/events.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { maskEntry, settleEndedRun } from './journal/append-events.ts';
import type { RunCreated } from '../core/journal/run-created.ts';
import { createRunFolders, publishRuns, type NewRun } from './run/create-run.ts';
import { EventCache } from './journal/load-run.ts';
import { OpenRuns, type OpenRun } from './open-runs.ts';
import { RunIndex } from './run-index.ts';
import type { RunFacts } from '../core/listing/run-facts.ts';
import {
  collectOpenRuns,
  type RunLists,
  listOpenRuns,
  listRuns,
  resolveRunId,
  runIds,
  type RunList,
  type RunQuery,
} from './run/run-list.ts';
import type { RunOrigin } from './run/run-record.ts';
import { runPaths, runsFolder } from './run-layout.ts';

/** Longer than the step of the times that file systems record, in ms. */
const MTIME_STEP_MS = 2_000;

/** Creates, lists and finds run directories. Every function may throw DISK_FAILED, and RUN_NOT_FOUND for its run. */
export interface RunCatalog {
  createRun(created: RunCreated, origin: RunOrigin): Promise<void>;
  /** Creates the directory of a run that has already ended. */
  createEnded(created: RunCreated, end: JournalEntry & { type: 'run.ended' }, origin: RunOrigin): Promise<void>;
  /** Creates the directories of several runs atomically. */
  createRuns(runs: readonly { created: RunCreated; origin: RunOrigin }[]): Promise<void>;
  /** Finishes the creation of runs whose process died. */
  publishRuns(): Promise<void>;
  /** Ids of all runs, newest first. */
  runIds(): Promise<string[]>;
  /** The runs that may not have ended, newest first. */
  openRuns(): Promise<OpenRun[]>;
  /**
   * Finds open runs that `openRuns` lacks, e.g. copied ones. Reads the journals of runs that were not found to have ended
   * before; with `all`, of all runs.
   */
  findOpenRuns(options?: { all: boolean }): Promise<void>;
  /** Facts about runs, by id, without reading these: lacks runs that were copied here, and has runs that were removed. */
  runFacts(): Promise<ReadonlyMap<string, RunFacts>>;
  /** When an open run was added, changed or removed last, in ms since 1970. NaN shortly after a change. */
  openRunsChangedAt(): Promise<number>;
  list(query?: RunQuery): Promise<RunList>;
  /** The run whose id starts with `part` or contains it. Throws RUN_NOT_FOUND with the candidates. */
  find(part: string): Promise<string>;
  /** Absolute path of the run's directory. */
  runFolder(runId: string): string;
}

/** What is needed to write the files of a run. */
export interface RunWriter {
  /** Masks everything that is written. */
  masker: Masker;
  now: () => Date;
  /** Returns a function that formats the lines of agent.log for an event. `startedAt` is ISO 8601. */
  log: (runId: string) => (event: JournalEvent, startedAt: string) => string;
}

/** Opens the catalog of the runs below `home`, an absolute path. Nothing is written before the first run. */
export function openRunCatalog(home: string, writer: RunWriter): RunCatalog {
  const openRuns = new OpenRuns(home);
  const runIndex = new RunIndex(home);
  const lists = { openRuns, runIndex };
  /** When the folder of runs had changed last, if nothing was left to publish since. */
  let publishedAt: number | undefined;
  const makeRunFolders = (runs: readonly NewFolder[]) => writeRunFolders({ home, ...lists, writer }, runs);
  return {
    createRun: (created, origin) => makeRunFolders([{ created, origin }]),
    createEnded: (created, end, origin) => makeRunFolders([{ created, origin, then: [end] }]),
    createRuns: makeRunFolders,
    publishRuns: async () => {
      const changedAt = (await stat(runsFolder(home)).catch(() => undefined))?.mtimeMs ?? 0;
      if (changedAt === publishedAt) return;
      const isSettled = Date.now() - changedAt > MTIME_STEP_MS;
      await publishRuns(runsFolder(home), openRuns);
      // A change within the same step of the clock would not be seen.
      publishedAt = isSettled ? changedAt : undefined;
    },
    runIds: () => runIds(home),
    openRuns: () => listOpenRuns(home, lists),
    findOpenRuns: (options = { all: false }) => collectOpenRuns(home, lists, options),
    runFacts: () => runIndex.read(),
    openRunsChangedAt: () => openRuns.changedAt(),
    list: (query) => listRuns(home, lists, query),
    find: (part) => resolveRunId(home, part),
    runFolder: (runId) => runPaths(home, runId).dir,
  };
}

type NewFolder = Pick<NewRun, 'created' | 'origin'> & Partial<Pick<NewRun, 'then'>>;

async function writeRunFolders(
  { home, openRuns, runIndex, writer: { masker, now, log } }: RunLists & { home: string; writer: RunWriter },
  runs: readonly NewFolder[],
): Promise<void> {
  const at = now().toISOString();
  await createRunFolders(
    runsFolder(home),
    { openRuns, runIndex },
    runs.map(({ created, origin, then = [] }) => ({
      created: maskEntry(masker, created),
      then: then.map((entry) => maskEntry(masker, entry)),
      // The configuration must stay exact. It refers to secrets but contains none.
      origin: { ...origin, args: masker.value(origin.args) },
      at,
      log: (event) => log(created.runId)(event, at),
    })),
  );
  for (const { created, then = [] } of runs)
    if (then.length > 0)
      await settleEndedRun(runPaths(home, created.runId), {
        openRuns,
        runIndex,
        eventCache: new EventCache(),
      });
}
