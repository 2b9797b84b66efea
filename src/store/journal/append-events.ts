import { appendFile, open, readFile, type FileHandle } from 'node:fs/promises';
import { JOURNAL_VERSION, type JournalEntry, type JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run-state.ts';
import { reach } from '../../lib/failpoint.ts';
import { writeAtomic } from '../../lib/atomic-write.ts';
import { withLock } from '../../lib/lock.ts';
import { parseJson } from '../../lib/parse-json.ts';
import { historyText, progressText } from '../run/progress-files.ts';
import { toJson } from '../run/create-run.ts';
import { isDiskError, isMissing, onDisk } from '../disk-errors.ts';
import { appendEvents } from './journal-file.ts';
import type { RunPaths } from '../run-layout.ts';
import { catchUp, checkpointText, foldOn, loadEvents, loadRun, runMissing, type Folded } from './load-run.ts';
import { recordOf, type RunConstants } from '../run/run-record.ts';

export interface Appended<T> extends Folded {
  events: JournalEvent[];
  result: T;
}

/** What a decision adds to the journal, and what whoever asked for it is told. */
export interface Decision<T> {
  entries: readonly JournalEntry[];
  result: T;
}

export interface Append<T> {
  /** Called with the state under the run's lock. */
  decide: (state: RunState) => Decision<T> | Promise<Decision<T>>;
  /** What this process folded before, if anything. */
  known: Folded | undefined;
  now: () => Date;
  log: (event: JournalEvent, startedAt: string) => string;
}

/** Adds entries to the journal, then brings everything up to date that is made from it. */
export async function appendToRun<T>(paths: RunPaths, append: Append<T>): Promise<Appended<T>> {
  return lockRun(paths, () => onDisk(paths.journal, () => appendLocked(paths, append)));
}

/** Changes what events do not change in run.json, such as the agent's version. */
export async function amendRecord(paths: RunPaths, change: RunConstants): Promise<void> {
  await lockRun(paths, async () => {
    const { state } = await loadRun(paths);
    const constants = { ...(await readConstants(paths)), ...change };
    await writeAtomic(paths.record, toJson(recordOf(state, constants)), true);
  });
}

/** Brings the files that are made from the journal up to date with the end of a run, whose writer may have died. */
export async function freshenRun(paths: RunPaths): Promise<void> {
  const isStale = async ({ state }: Folded) =>
    state.status === 'ended' && (await readConstants(paths)).stopReason !== state.stopReason;
  if (!(await isStale(await loadRun(paths)))) return;
  await lockRun(paths, async () => {
    const folded = await loadRun(paths);
    if (!(await isStale(folded))) return;
    await refresh(paths, folded);
    await retell(paths, folded);
  });
}

async function lockRun<T>(paths: RunPaths, work: () => Promise<T>): Promise<T> {
  return onDisk(paths.dir, () =>
    withLock(paths.lock, work).catch((error: unknown) => {
      throw isMissing(error) && (error as NodeJS.ErrnoException).syscall === 'symlink'
        ? runMissing(paths, error)
        : error;
    }),
  );
}

async function appendLocked<T>(paths: RunPaths, append: Append<T>): Promise<Appended<T>> {
  const file = await open(paths.journal, 'a+', 0o600);
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
    const failpoints = events.flatMap(failpointOf);
    for (const at of failpoints) await reach(`${at}.before`);
    const end = await appendEvents(file, { events, end: before.end }, events.some(mustLast));
    const after = { state: foldOn(before.state, events), end };
    for (const at of failpoints) await reach(`${at}.after`);
    await tell(paths, { after, events, log: append.log });
    return { ...after, events, result };
  } finally {
    await file.close();
  }
}

interface Told {
  after: Folded;
  events: JournalEvent[];
  log: Append<unknown>['log'];
}

/**
 * Brings up to date what is made from the journal. A failure here is not the caller's: its events are recorded,
 * and must not be appended again; the next event of weight writes these files anew.
 */
async function tell(paths: RunPaths, { after, events, log }: Told): Promise<void> {
  const startedAt = after.state.startedAt ?? after.state.createdAt;
  try {
    await appendFile(paths.log, events.map((event) => log(event, startedAt)).join(''));
    if (events.some(changesRecord)) await refresh(paths, after);
    if (events.some(({ type }) => type === 'story.ended' || type === 'story.started')) await retell(paths, after);
  } catch (error) {
    if (!isDiskError(error)) throw error;
  }
}

async function currentState(file: FileHandle, paths: RunPaths, known: Folded | undefined): Promise<Folded> {
  return known === undefined ? loadRun(paths) : catchUp(file, paths, known);
}

async function refresh(paths: RunPaths, folded: Folded): Promise<void> {
  await writeAtomic(paths.checkpoint, checkpointText(folded));
  await writeAtomic(paths.record, toJson(recordOf(folded.state, await readConstants(paths))), true);
}

async function retell(paths: RunPaths, { state }: Folded): Promise<void> {
  // What agents said is most of a journal, and not told there.
  const events = await loadEvents(paths, ({ type }) => type !== 'agent.activity');
  await writeAtomic(paths.progress, progressText(state, events));
  await writeAtomic(paths.history, historyText(events));
}

/** A run.json that is damaged or gone must not stop the run: what events know is written anew. */
export async function readConstants(paths: RunPaths): Promise<RunConstants> {
  const text = await readFile(paths.record, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  return (parseJson(text) as RunConstants | null | undefined) ?? {};
}

/** Whether the event must be on the disk before halo goes on; the others can be lost without harm. */
function mustLast({ type }: JournalEvent): boolean {
  return type !== 'agent.activity' && type !== 'gate.started' && type !== 'phase.started' && type !== 'phase.ended';
}

const MILESTONES = ['run.started', 'story.started', 'story.ended', 'run.ended'];
const WORDS =
  /^run\.(paused|resumed|retried|replanned|approved|rejected)$|^story\.(approved|rejected|cancelled)$|^approval\./;

/** Its name among the failpoints (core/failpoint.ts), if any. */
function failpointOf({ type }: JournalEvent): string[] {
  if (MILESTONES.includes(type)) return [type];
  return WORDS.test(type) ? ['word'] : [];
}

function changesRecord({ type }: JournalEvent): boolean {
  return /^(run|story|approval|retry|breaker)\./.test(type);
}
