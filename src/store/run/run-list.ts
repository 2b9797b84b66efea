import { readFolder } from '../../lib/fs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { withDiskErrors } from '../disk-errors.ts';
import { runPaths, runsFolder } from '../run-layout.ts';
import { loadRun } from '../journal/load-run.ts';

/** All runs of this home. */
export interface RunList {
  /** Newest first. */
  runs: RunState[];
  /** Runs with a damaged directory, and the error. */
  unreadable: { runId: string; error: HaloError }[];
}

export async function listRuns(home: string): Promise<RunList> {
  const list: RunList = { runs: [], unreadable: [] };
  for (const runId of await runIds(home)) {
    try {
      list.runs.push((await loadRun(runPaths(home, runId))).state);
    } catch (error) {
      list.unreadable.push({ runId, error: toHaloError(error) });
    }
  }
  list.runs.sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
  return list;
}

const MIN_LENGTH = 3;

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
