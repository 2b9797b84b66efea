import { readFile, stat } from 'node:fs/promises';
import type { JournalEntry, JournalEvent } from '../core/journal/events.ts';
import type { RunState } from '../core/run/state.ts';
import { keyedQueue } from '../lib/async.ts';
import { withDiskErrors } from './disk-errors.ts';
import {
  appendToRun,
  maskEntry,
  readConstants,
  settleEndedRun,
  updateRunRecord,
  type JournalDecision,
} from './journal/append-events.ts';
import { feedEvents, JournalFeed, type FedEvents } from './journal/journal-feed.ts';
import { followJournal, followState, type FollowJournalOptions } from './journal/follow-run-files.ts';
import { EventCache, loadEvents, loadRun, type FoldedRun } from './journal/load-run.ts';
import { JournalTails } from './journal/journal-tail.ts';
import { OpenRuns } from './open-runs.ts';
import { RunIndex } from './run-index.ts';
import { runPaths } from './run-layout.ts';
import { runIds } from './run/run-list.ts';
import { buildRunRecord, type RunConstants } from './run/run-record.ts';
import type { RunWriter } from './run-catalog.ts';

/** The journals of runs and the files derived from them. Every function may throw DISK_FAILED and RUN_NOT_FOUND. */
export interface JournalStore {
  /** Appends to the journal. Several processes may append to one run. The entries are durable when it resolves. */
  append(runId: string, entries: readonly JournalEntry[]): Promise<JournalEvent[]>;
  /**
   * Calls `decide` with the current state under the run's lock, and appends its entries before releasing the lock.
   * `decide` may have side effects that belong to its entries, such as moving a ref, but must not append to the run.
   * If it throws, nothing is appended and the error is rethrown.
   */
  transact<T>(runId: string, decide: (state: RunState) => JournalDecision<T> | Promise<JournalDecision<T>>): Promise<T>;
  /** Adds facts to run.json that were not known at creation, such as the agent's version. */
  amend(runId: string, change: RunConstants): Promise<void>;
  /** Updates the files derived from the journal of an ended run whose process died before it could. */
  settle(runId: string): Promise<void>;
  readState(runId: string): Promise<RunState>;
  /** The content of run.json as of the last event. */
  readRecord(runId: string): Promise<Record<string, unknown>>;
  readJournal(runId: string): Promise<JournalEvent[]>;
  /** The events of a run without the activities of agents, from memory as far as possible. */
  readWithoutActivities(runId: string): Promise<readonly JournalEvent[]>;
  /** Runs whose journal changed at or after `since` (ISO 8601), by default all, the latest change first. */
  recentRuns(since?: string): Promise<RecentRun[]>;
  /**
   * Hands on the events of all runs that were not handed on yet, oldest first for each run, and records it when `take` has
   * resolved. After a crash, events are handed on again. Returns how many runs could not be read. Throws what `take` throws.
   */
  feedEvents(take: (fed: FedEvents) => Promise<void>, signal: AbortSignal): Promise<number>;
  /** Size of the journal in bytes, to detect changes. 0 when it cannot be read. */
  journalBytes(runId: string): Promise<number>;
  /** The content of progress.md. */
  readProgress(runId: string): Promise<string>;
  follow(runId: string, options: FollowJournalOptions): AsyncIterable<JournalEvent>;
  /** Yields the state of the run now and after changes by any process. Ends only on abort. */
  followState(runId: string, signal: AbortSignal): AsyncIterable<RunState>;
}

/** A run and when its journal changed last, ISO 8601. */
interface RecentRun {
  runId: string;
  changedAt: string;
}

/** Opens the journals of the runs below `home`, an absolute path. */
export function openJournalStore(home: string, { masker, now, log }: RunWriter): JournalStore {
  const known = new Map<string, FoldedRun>();
  const inOrder = keyedQueue();
  const openRuns = new OpenRuns(home);
  const runIndex = new RunIndex(home);
  const eventCache = new EventCache();
  const feed = new JournalFeed(home);
  const tails = new JournalTails();
  const paths = (runId: string) => runPaths(home, runId);
  const load = (runId: string) => loadRun(paths(runId), known.get(runId));
  const decideInOrder = <T>(
    runId: string,
    propose: (state: RunState) => JournalDecision<T> | Promise<JournalDecision<T>>,
  ) =>
    inOrder(runId, async () => {
      const decide = async (state: RunState) => {
        const { entries, result } = await propose(state);
        return { entries: entries.map((entry) => maskEntry(masker, entry)), result };
      };
      const appended = await appendToRun(paths(runId), {
        decide,
        known: known.get(runId),
        now,
        log: log(runId),
        openRuns,
        runIndex,
        eventCache,
        feed,
      });
      if (appended.state.status === 'ended') known.delete(runId);
      else known.set(runId, { state: appended.state, end: appended.end });
      return appended;
    });
  return {
    append: async (runId, entries) => (await decideInOrder(runId, () => ({ entries, result: undefined }))).events,
    transact: async (runId, decide) => (await decideInOrder(runId, decide)).result,
    amend: (runId, change) => inOrder(runId, () => updateRunRecord(paths(runId), change)),
    settle: (runId) => inOrder(runId, () => settleEndedRun(paths(runId), { openRuns, runIndex, eventCache })),
    readState: async (runId) => (await load(runId)).state,
    readRecord: async (runId) => {
      const [{ state }, constants] = await Promise.all([load(runId), readConstants(paths(runId))]);
      return buildRunRecord(state, constants);
    },
    readJournal: async (runId) => loadEvents(paths(runId)),
    readWithoutActivities: (runId) => eventCache.read(paths(runId)),
    recentRuns: (since) => recentRuns(home, since),
    feedEvents: (take, signal) => feedEvents(feed, home, { take, signal }),
    journalBytes: async (runId) => (await stat(paths(runId).journal).catch(() => ({ size: 0 }))).size,
    readProgress: async (runId) => readJournalText(paths(runId).progress),
    follow: (runId, how) => followJournal(paths(runId), { ...how, tails }),
    followState: (runId, signal) => followState(paths(runId), signal),
  };
}

async function recentRuns(home: string, since = ''): Promise<RecentRun[]> {
  const runs: RecentRun[] = [];
  for (const runId of await runIds(home)) {
    const facts = await stat(runPaths(home, runId).journal).catch(() => undefined);
    const changedAt = facts?.mtime.toISOString();
    if (changedAt !== undefined && changedAt >= since) runs.push({ runId, changedAt });
  }
  return runs.sort((a, b) => (a.changedAt < b.changedAt ? 1 : -1));
}

function readJournalText(path: string): Promise<string> {
  return withDiskErrors(path, () => readFile(path, 'utf8'));
}
