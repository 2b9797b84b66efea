import { readFolder } from '../../lib/fs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { mapConcurrent } from '../../lib/async.ts';
import { firstRunId, RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';
import { runPaths, runsFolder } from '../run-layout.ts';
import { loadRun } from '../journal/load-run.ts';
import type { OpenRun, OpenRuns } from '../open-runs.ts';

/** Runs of this home. */
export interface RunList {
  /** Newest first. */
  runs: RunState[];
  /** Runs with a damaged directory, and the error. */
  unreadable: { runId: string; error: HaloError }[];
  /** Numbers of runs in the range of the query that were not read. */
  omitted: { open: number; ended: number };
  /** The `before` of a query for the next runs; undefined if `newest` left none out. */
  next?: string;
}

/** Which runs to read; all by default. */
export interface RunQuery {
  /** At most this many open runs: the newest that have started, then the newest others. */
  open?: number | undefined;
  /** Of the open runs, only those that have started. */
  started?: true;
  /** At most this many ended runs, the newest. */
  ended?: number | undefined;
  /** At most this many runs, the newest, open or not. */
  newest?: number | undefined;
  /** Only runs whose id sorts before this one: older ones. */
  before?: string | undefined;
  /** Only runs that were submitted at or after this time, ISO 8601. */
  since?: string | undefined;
}

/** Reads runs. Takes time for those that it returns, not for the others. */
export async function listRuns(home: string, openRuns: OpenRuns, query: RunQuery = {}): Promise<RunList> {
  const { open: mostOpen = Infinity, ended: mostEnded = Infinity, newest = Infinity, before, since = '' } = query;
  const oldest = Number.isNaN(Date.parse(since)) ? '' : firstRunId(new Date(since));
  const all = (await runIds(home)).filter((id) => (before === undefined || id < before) && isFrom(id, oldest));
  const present = new Set(all);
  // A removed folder is not a run.
  const open = (await listOpenRuns(home, openRuns)).filter(({ runId }) => present.has(runId));
  const isOpen = new Set(open.map(({ runId }) => runId));
  const among = new Set(all.slice(0, newest));
  const [started, others] = [true, false].map((wanted) => open.filter((run) => run.started === wanted));
  const ended = all.filter((runId) => !isOpen.has(runId) && among.has(runId));
  const wanted = query.started === true ? (started ?? []) : [...(started ?? []), ...(others ?? [])];
  const chosen = wanted.map(({ runId }) => runId).filter((runId) => among.has(runId));
  const ids = [...chosen.slice(0, mostOpen), ...ended.slice(0, mostEnded)];
  const list: RunList = { runs: [], unreadable: [], omitted: { open: 0, ended: 0 } };
  await readInto(list, home, ids);
  const openRead = ids.filter((runId) => isOpen.has(runId)).length;
  list.omitted = { open: open.length - openRead, ended: all.length - open.length - (ids.length - openRead) };
  list.runs = list.runs.filter(({ createdAt }) => createdAt >= since);
  const last = all[newest - 1];
  if (last !== undefined && all.length > newest) list.next = last;
  list.runs.sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
  return list;
}

/** Whether the run may have been created at the time of the id `oldest` or later. Ids of other forms have no time. */
function isFrom(runId: string, oldest: string): boolean {
  return runId.length !== oldest.length || runId >= oldest;
}

async function readInto(list: Pick<RunList, 'runs' | 'unreadable'>, home: string, ids: string[]): Promise<void> {
  await mapConcurrent(ids, MAX_READS, async (runId) => {
    try {
      list.runs.push((await loadRun(runPaths(home, runId))).state);
    } catch (error) {
      list.unreadable.push({ runId, error: toHaloError(error) });
    }
  });
}

/** The runs that may not have ended, newest first. */
export async function listOpenRuns(home: string, openRuns: OpenRuns): Promise<OpenRun[]> {
  const known = await openRuns.read();
  if (known !== undefined) return known;
  if ((await runIds(home)).length === 0) return [];
  await collectOpenRuns(home, openRuns, { all: true });
  return (await openRuns.read()) ?? [];
}

/**
 * Adds runs that have not ended, or cannot be read, to the list of open runs. Reads runs that were not found to have ended
 * before; with `all`, also those.
 */
export async function collectOpenRuns(home: string, openRuns: OpenRuns, { all }: { all: boolean }): Promise<void> {
  const list: Pick<RunList, 'runs' | 'unreadable'> = { runs: [], unreadable: [] };
  const open = (await openRuns.read()) ?? [];
  const known = new Set([...open.map(({ runId }) => runId), ...(all ? [] : await openRuns.readEnded())]);
  const unknown = (await runIds(home)).filter((runId) => !known.has(runId));
  await readInto(list, home, unknown);
  const found = list.runs.filter(({ status }) => status !== 'ended');
  await openRuns.add([...found, ...list.unreadable].map(({ runId }) => runId));
  for (const { runId, startedAt } of found) if (startedAt !== undefined) await openRuns.markStarted(runId);
  const ended = list.runs.filter(({ status }) => status === 'ended').map(({ runId }) => runId);
  await openRuns.complete(ended, { all });
}

const MIN_LENGTH = 3;
const MAX_READS = 8;

/**
 * Finds the one run whose id starts with `part` or, if there is none, contains it: ids of one day start alike and differ
 * at the end. Throws RUN_NOT_FOUND with the closest run ids.
 */
export async function resolveRunId(home: string, part: string): Promise<string> {
  const ids = await runIds(home);
  const wanted = part.toLowerCase();
  if (ids.includes(wanted)) return wanted;
  const begins = wanted === '' ? [] : ids.filter((id) => id.startsWith(wanted));
  const matches = begins.length > 0 || wanted.length < MIN_LENGTH ? begins : ids.filter((id) => id.includes(wanted));
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  const shown = part.slice(0, 64);
  if (matches.length > 1)
    throw new HaloError('RUN_NOT_FOUND', `"${shown}" matches ${matches.length} runs: ${firstFew(matches)}.`, {
      hint: 'Type more characters, or the end of the run id.',
    });
  throw new HaloError('RUN_NOT_FOUND', `No run matches "${shown}"${suggestRuns(ids, wanted)}.`, {
    hint: 'Run `halo ls` to list all runs.',
  });
}

/** All run ids, newest first: an id starts with the time of its creation. */
export async function runIds(home: string): Promise<string[]> {
  // Throws for ENOTDIR: a HALO_HOME that is a file is a mistake, not an empty home.
  const names = await withDiskErrors(runsFolder(home), () => readFolder(runsFolder(home)));
  return names
    .filter((name) => RUN_ID.test(name))
    .sort()
    .reverse();
}

function suggestRuns(ids: readonly string[], wanted: string): string {
  for (let length = wanted.length - 1; length >= 4; length--) {
    const near = ids.filter((id) => id.startsWith(wanted.slice(0, length)));
    if (near.length > 0) return `; the closest are ${firstFew(near)}`;
  }
  return ids.length === 0 ? '' : `; the newest are ${firstFew(ids)}`;
}

function firstFew(ids: readonly string[]): string {
  return ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '');
}
