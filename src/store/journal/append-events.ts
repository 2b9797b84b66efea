import { constants } from 'node:fs';
import { appendFile, open, readFile, type FileHandle } from 'node:fs/promises';
import { eventIs } from '../../core/journal/events.ts';
import { JOURNAL_VERSION } from '../../core/journal/event-parts.ts';
import type { JournalEntry, JournalEvent } from '../../core/journal/events.ts';
import { historyText } from '../../core/report/history.ts';
import { isOver } from '../../core/run/questions.ts';
import type { RunState } from '../../core/run/state.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { writeAtomic } from '../../lib/fs.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { isDiskError, isMissing, withDiskErrors } from '../disk-errors.ts';
import type { OpenRuns } from '../open-runs.ts';
import type { RunIndex } from '../run-index.ts';
import type { RunPaths } from '../run-layout.ts';
import { toJson } from '../run/create-run.ts';
import { buildRunRecord, progressText, type RunConstants } from '../run/run-record.ts';
import type { JournalFeed } from './journal-feed.ts';
import { appendEvents } from './journal-file.ts';
import {
  catchUp,
  checkpointText,
  foldEvents,
  loadRun,
  lockRun,
  runNotFound,
  type EventCache,
  type FoldedRun,
} from './load-run.ts';

interface AppendResult<T> extends FoldedRun {
  events: JournalEvent[];
  result: T;
}

/** The entries that a decision appends to the journal, and the result for its caller. */
export interface JournalDecision<T> {
  entries: readonly JournalEntry[];
  result: T;
}

interface AppendOptions<T> {
  /** Called with the current state while the run is locked. */
  decide: (state: RunState) => JournalDecision<T> | Promise<JournalDecision<T>>;
  /** The state that this process folded before, if any. */
  known: FoldedRun | undefined;
  now: () => Date;
  log: (event: JournalEvent, startedAt: string) => string;
  /** The list of runs that may not have ended. */
  openRuns: OpenRuns;
  runIndex: RunIndex;
  eventCache: EventCache;
  feed: JournalFeed;
}

/** Appends entries to the journal, then updates the files derived from it. */
export async function appendToRun<T>(paths: RunPaths, append: AppendOptions<T>): Promise<AppendResult<T>> {
  return lockRun(paths, () => withDiskErrors(paths.journal, () => appendLocked(paths, append)));
}

/** Changes fields of run.json that are not derived from events, such as the agent's version. */
export async function updateRunRecord(paths: RunPaths, change: RunConstants): Promise<void> {
  await lockRun(paths, async () => {
    const { state } = await loadRun(paths);
    const constants = { ...(await readConstants(paths)), ...change };
    await writeAtomic(paths.record, toJson(buildRunRecord(state, constants)), true);
  });
}

/** What is derived from the journals of several runs. */
interface SettledFiles {
  openRuns: OpenRuns;
  runIndex: RunIndex;
  eventCache: EventCache;
}

/**
 * Updates the derived files of an ended run whose writer may have died before it could, and removes it from the list of
 * open runs. Does nothing to other runs.
 */
export async function settleEndedRun(paths: RunPaths, { openRuns, runIndex, eventCache }: SettledFiles): Promise<void> {
  await lockRun(paths, async () => {
    const folded = await loadRun(paths);
    if (!isOver(folded.state)) return;
    if ((await readConstants(paths)).stopReason !== folded.state.stopReason) {
      await writeRecordFiles(paths, folded);
      await writeProgressFiles(paths, folded, eventCache);
    }
    await runIndex.add([folded.state]);
    await openRuns.remove(folded.state.runId);
  });
}

async function appendLocked<T>(paths: RunPaths, append: AppendOptions<T>): Promise<AppendResult<T>> {
  // Somebody may have removed the run.
  const file = await open(paths.journal, O_RDWR | O_APPEND).catch((error: unknown) => {
    throw isMissing(error) ? runNotFound(paths, error) : error;
  });
  try {
    const before = await currentState(file, paths, append.known);
    const { entries, result } = await append.decide(before.state);
    if (entries.length === 0) return { ...before, events: [], result };
    const at = append.now().toISOString();
    const events = entries.map((entry, i): JournalEvent => ({
      v: JOURNAL_VERSION,
      seq: before.state.seq + 1 + i,
      at,
      ...entry,
    }));
    const state = foldEvents(before.state, events);
    const { runId } = state;
    // Before the event, so that no process can miss an open run.
    if (before.state.status === 'ended' && state.status !== 'ended') await append.openRuns.add([runId]);
    const isChange = events.some((event) => eventIs(event, 'changes'));
    const durable = events.some((event) => !eventIs(event, 'lossy'));
    if (isChange && before.state.status === 'ended') await append.runIndex.forgetState(before.state);
    if (isChange) await append.feed.mark(runId, before.end);
    const failpoints = events.flatMap(failpointsOf);
    for (const at of failpoints) await failpoint(`${at}.before`);
    const end = await appendEvents(file, { events, end: before.end }, durable);
    const after = { state, end };
    if (isChange) await append.openRuns.touch();
    for (const at of failpoints) await failpoint(`${at}.after`);
    await updateDerivedFiles(paths, { before: before.state, after, events, ...append });
    return { ...after, events, result };
  } finally {
    await file.close();
  }
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;
/** A link in its place is not followed. */
const APPEND_TO_FILE = O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY;

interface DerivedUpdate extends Pick<AppendOptions<unknown>, 'log' | 'openRuns' | 'runIndex' | 'eventCache'> {
  before: RunState;
  after: FoldedRun;
  events: JournalEvent[];
}

/**
 * Updates the files derived from the journal. Disk errors are ignored: the events are recorded and must not be appended
 * again, and a later event rewrites these files.
 */
async function updateDerivedFiles(
  paths: RunPaths,
  { before, after, events, log, openRuns, runIndex, eventCache }: DerivedUpdate,
): Promise<void> {
  const startedAt = after.state.startedAt ?? after.state.createdAt;
  try {
    const text = events.map((event) => log(event, startedAt)).join('');
    const hasChange = events.some((event) => eventIs(event, 'changes'));
    if (text !== '') await appendFile(paths.log, text, { flag: APPEND_TO_FILE, mode: 0o600 });
    if (hasChange) await writeRecordFiles(paths, after);
    if (events.some(({ type }) => type === 'story.ended' || type === 'story.started'))
      await writeProgressFiles(paths, after, eventCache);
    const { runId, status } = after.state;
    if (status === 'ended' && hasChange) await runIndex.add([after.state]);
    if (isOver(after.state) && !isOver(before)) await openRuns.remove(runId);
    else if (events.some(({ type }) => type === 'run.started' || type === 'story.started'))
      await openRuns.markStarted(runId);
  } catch (error) {
    if (!isDiskError(error)) throw error;
  }
}

async function currentState(file: FileHandle, paths: RunPaths, known: FoldedRun | undefined): Promise<FoldedRun> {
  return known === undefined ? loadRun(paths) : catchUp(file, paths, known);
}

async function writeRecordFiles(paths: RunPaths, folded: FoldedRun): Promise<void> {
  await writeAtomic(paths.checkpoint, checkpointText(folded));
  await writeAtomic(paths.record, toJson(buildRunRecord(folded.state, await readConstants(paths))), true);
}

async function writeProgressFiles(paths: RunPaths, { state }: FoldedRun, eventCache: EventCache): Promise<void> {
  const events = await eventCache.read(paths);
  await writeAtomic(paths.progress, progressText(state, events));
  await writeAtomic(paths.history, historyText(events));
}

/** Reads the fields of run.json that events do not provide. A damaged or missing file yields none: it must not stop the run. */
export async function readConstants(paths: RunPaths): Promise<RunConstants> {
  const text = await readFile(paths.record, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  return (tryParseJson(text) as RunConstants | null | undefined) ?? {};
}

const MILESTONES = ['run.started', 'story.started', 'story.ended', 'run.ended'];

/** The failpoints of an event (core/failure/failpoint-names.ts), if any. */
function failpointsOf(event: JournalEvent): string[] {
  if (MILESTONES.includes(event.type)) return [event.type];
  return eventIs(event, 'command') ? ['command'] : [];
}

/** Keys whose values the fold depends on: names given by halo, the PRD or git. They are not masked. */
const UNMASKED_KEYS: ReadonlySet<string> = new Set(
  'type runId repo prdPath owner hash specHash dialect id storyKey dependsOn story phase base commit onto merged from to branch image log sha256 held at'.split(
    ' ',
  ),
);

/** Masks the secrets in a journal entry. */
export function maskEntry<E extends JournalEntry>(masker: Masker, entry: E): E {
  return masker.value(entry, UNMASKED_KEYS);
}
