import { readFolder } from '../../lib/fs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { isOver } from '../../core/run/questions.ts';
import type { RunState } from '../../core/run/state.ts';
import { mapConcurrent } from '../../lib/async.ts';
import { firstRunId, RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';
import { runPaths, runsFolder } from '../run-layout.ts';
import { loadRun } from '../journal/load-run.ts';
import { factsOf, hasCondition, matches, type RunCondition, type RunFacts } from '../../core/listing/run-facts.ts';
import type { OpenRun, OpenRuns } from '../open-runs.ts';
import type { RunIndex } from '../run-index.ts';

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

/** The lists that are derived from the journals of a home. */
export interface RunLists {
  openRuns: OpenRuns;
  runIndex: RunIndex;
}

/** Which runs to read; all by default. The numbers count runs that match the condition. */
export interface RunQuery extends RunCondition {
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
  /** Only runs that were submitted at or after this time, in the form of `toISOString`. */
  since?: string | undefined;
  /** Only runs that were submitted before this time, in the same form. */
  until?: string | undefined;
  /** Only runs of repositories, by path or address, for which it returns true. */
  isVisible?: (source: string) => boolean;
  /** Only runs that stopped because too much had failed in them. */
  breaker?: true;
  /** Adds to runs, in their order, the limit of the fleet that delays each, which decides about the word of their state. */
  mark?: (runs: readonly RunState[]) => Promise<(RunState & { heldBy?: string; engines?: string[] })[]>;
}

/** Reads runs. Takes time for those that it returns, for open ones and for those that the index lacks, not for the others. */
export async function listRuns(home: string, lists: RunLists, query: RunQuery = {}): Promise<RunList> {
  const { before = '~', since, until } = query;
  const [oldest, end] = [idAt(since, -CREATION_MS), idAt(until)];
  const all = (await runIds(home)).filter(
    (id) =>
      id < before && (isUntimed(id) || ((oldest === undefined || id >= oldest) && (end === undefined || id < end))),
  );
  const present = new Set(all);
  // A removed folder is not a run.
  const open = (await listOpenRuns(home, lists)).filter(({ runId }) => present.has(runId));
  const { repo, user, prd, batch, state, find, isVisible, breaker } = query;
  const condition = { repo, user, prd, batch, state, find };
  if (!hasCondition(condition) && isVisible === undefined && breaker === undefined)
    return readRange(home, { all, open }, query);
  const isWanted = (facts: RunFacts, only: RunCondition = condition) =>
    matches(facts, only) && isVisible?.(facts.repo) !== false && (breaker === undefined || facts.breaker === true);
  const index = await lists.runIndex.read();
  const isOpen = new Set(open.map(({ runId }) => runId));
  const mayMatch = (runId: string) => {
    const facts = index.get(runId);
    if (facts === undefined) return true;
    const known = facts.text === undefined ? { ...condition, find: undefined } : condition;
    if (facts.state !== undefined && !isOpen.has(runId)) return isWanted(facts, known);
    // What changes while a run is open is known when it is read.
    return isWanted({ ...facts, breaker: true }, { ...condition, state: undefined, find: undefined });
  };
  // Numbers tell nothing about runs of which it is not known whether they are visible.
  const isCounted = (runId: string) => isVisible === undefined || index.has(runId);
  return readMatching(home, { ids: all.filter(mayMatch), open }, { ...query, isWanted, isCounted });
}

type Range = Pick<RunQuery, 'open' | 'ended' | 'newest' | 'since' | 'until' | 'started'>;

/** Reads the runs of a range, of which `all` are the ids, the newest first. */
async function readRange(
  home: string,
  { all, open }: { all: string[]; open: OpenRun[] },
  { open: mostOpen = Infinity, ended: mostEnded = Infinity, newest = Infinity, started: only, ...period }: Range,
): Promise<RunList> {
  const isOpen = new Set(open.map(({ runId }) => runId));
  const listed = all.filter((runId) => (isOpen.has(runId) ? mostOpen : mostEnded) > 0);
  const among = new Set(listed.slice(0, newest));
  const [started, others] = [true, false].map((wanted) => open.filter((run) => run.started === wanted));
  const ended = all.filter((runId) => !isOpen.has(runId) && among.has(runId));
  const wanted = only === true ? (started ?? []) : [...(started ?? []), ...(others ?? [])];
  const chosen = wanted.map(({ runId }) => runId).filter((runId) => among.has(runId));
  const ids = [...chosen.slice(0, mostOpen), ...ended.slice(0, mostEnded)];
  const list = await readAll(home, ids);
  const openRead = ids.filter((runId) => isOpen.has(runId)).length;
  const last = listed[newest - 1];
  return {
    runs: inOrder(list.runs.filter((run) => isWithin(run, period))),
    unreadable: list.unreadable,
    omitted: { open: open.length - openRead, ended: all.length - open.length - (ids.length - openRead) },
    ...(last !== undefined && listed.length > newest && { next: last }),
  };
}

/** Reads the newest runs that match until there are as many as asked for. `ids` may match, the newest first. */
async function readMatching(
  home: string,
  { ids, open }: { ids: string[]; open: OpenRun[] },
  {
    open: mostOpen = Infinity,
    ended: mostEnded = Infinity,
    newest = Infinity,
    started,
    isWanted,
    isCounted,
    mark = (runs) => Promise.resolve([...runs]),
    ...period
  }: Range & Pick<RunQuery, 'mark'> & { isWanted: (facts: RunFacts) => boolean; isCounted: (runId: string) => boolean },
): Promise<RunList> {
  const isOpen = new Map(open.map((run) => [run.runId, run.started]));
  const left = { open: mostOpen, ended: mostEnded };
  const kindOf = (runId: string) => (isOpen.has(runId) ? 'open' : 'ended');
  // Those that have started come first if not all open ones are listed.
  const rank = (runId: string) => (mostOpen < Infinity && isOpen.get(runId) === true ? 0 : 1);
  const range = started === true ? ids.filter((runId) => isOpen.get(runId) !== false) : ids;
  const rest = range.filter((runId) => left[kindOf(runId)] > 0).sort((a, b) => rank(a) - rank(b));
  const list: RunList = { runs: [], unreadable: [], omitted: { open: 0, ended: 0 } };
  const leaveOut = (runIds: readonly string[]) => {
    for (const runId of runIds.filter(isCounted)) list.omitted[kindOf(runId)] += 1;
  };
  leaveOut(range.filter((runId) => left[kindOf(runId)] <= 0));
  while (rest.length > 0 && list.runs.length < newest) {
    const chunk = rest.splice(0, Math.min(newest - list.runs.length, left.open + left.ended, MAX_AT_ONCE));
    const { runs, unreadable } = await readAll(home, chunk);
    const read = chunk.flatMap((id) => runs.find(({ runId }) => runId === id) ?? []);
    const matching = (await mark(read)).filter((run) => isWithin(run, period) && isWanted(factsOf(run)));
    for (const run of matching) {
      const kind = kindOf(run.runId);
      if (left[kind] > 0) list.runs.push(run);
      else list.omitted[kind] += 1;
      left[kind] = Math.max(0, left[kind] - 1);
    }
    list.unreadable.push(...unreadable);
    for (const kind of ['open', 'ended'] as const)
      if (left[kind] <= 0) {
        const kept = rest.filter((runId) => kindOf(runId) !== kind);
        leaveOut(rest.filter((runId) => kindOf(runId) === kind));
        rest.splice(0, rest.length, ...kept);
      }
  }
  leaveOut(rest);
  const last = inOrder(list.runs).at(-1)?.runId;
  return { ...list, runs: inOrder(list.runs), ...(rest.length > 0 && last !== undefined && { next: last }) };
}

/** Runs that are read before it is known how many of them match. */
const MAX_AT_ONCE = 64;

function inOrder(runs: readonly RunState[]): RunState[] {
  return [...runs].sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
}

function isWithin({ createdAt }: RunState, { since = '', until = '~' }: Pick<RunQuery, 'since' | 'until'>): boolean {
  return createdAt >= since && createdAt < until;
}

/** A run has its id before it is created: its commit may have to be fetched. In ms. */
const CREATION_MS = 600_000;

/** The first id of a moment; undefined if there is no time. */
function idAt(time = '', plus = 0): string | undefined {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : firstRunId(new Date(ms + plus));
}

/** Whether an id does not begin with the time of its creation. */
function isUntimed(runId: string): boolean {
  return runId.length !== ID_LENGTH;
}

const ID_LENGTH = firstRunId(new Date(0)).length;

async function readAll(home: string, ids: readonly string[]): Promise<Pick<RunList, 'runs' | 'unreadable'>> {
  const list: Pick<RunList, 'runs' | 'unreadable'> = { runs: [], unreadable: [] };
  await mapConcurrent(ids, MAX_READS, async (runId) => {
    try {
      list.runs.push((await loadRun(runPaths(home, runId))).state);
    } catch (error) {
      list.unreadable.push({ runId, error: toHaloError(error) });
    }
  });
  return list;
}

/** The runs that may not have ended, newest first. */
export async function listOpenRuns(home: string, lists: RunLists): Promise<OpenRun[]> {
  const known = await lists.openRuns.read();
  if (known !== undefined) return known;
  if ((await runIds(home)).length === 0) return [];
  await collectOpenRuns(home, lists, { all: true });
  return (await lists.openRuns.read()) ?? [];
}

/**
 * Adds runs that have not ended, or cannot be read, to the list of open runs, and all runs to the index. Reads runs that
 * are in neither; with `all`, also those.
 */
export async function collectOpenRuns(
  home: string,
  { openRuns, runIndex }: RunLists,
  { all }: { all: boolean },
): Promise<void> {
  const open = new Set((await openRuns.read())?.map(({ runId }) => runId));
  const facts = await runIndex.read();
  const isKnown = (runId: string) => open.has(runId) || facts.get(runId)?.state !== undefined;
  await runIndex.refresh(
    async () => {
      const list = await readAll(
        home,
        (await runIds(home)).filter((runId) => all || !isKnown(runId)),
      );
      const found = list.runs.filter((run) => !isOver(run));
      await openRuns.add([...found, ...list.unreadable].map(({ runId }) => runId));
      for (const { runId, startedAt } of found) if (startedAt !== undefined) await openRuns.markStarted(runId);
      await openRuns.complete();
      return list.runs;
    },
    { all },
  );
}

const MIN_LENGTH = 3;
const MAX_READS = 8;

/**
 * Finds the one run whose id starts with `part` or, if there is none, contains it: ids of one day start alike and differ
 * at the end. Throws RUN_NOT_FOUND with the closest run ids.
 */
export async function resolveRunId(home: string, part: string): Promise<string> {
  return pickRunId(await runIds(home), part);
}

/** The same among these ids. */
export function pickRunId(ids: readonly string[], part: string): string {
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
