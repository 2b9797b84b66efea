import { readdir } from 'node:fs/promises';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run-state.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { onDisk } from '../disk-errors.ts';
import { runPaths, runsFolder } from '../run-layout.ts';
import { loadRun } from '../journal/load-run.ts';

/** All runs of this home. */
export interface RunList {
  /** Newest first. */
  runs: RunState[];
  /** Runs whose directory is damaged, with the reason. */
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

const MIN_PART = 3;

/**
 * The one run whose id begins with `part`, or else has it anywhere: ids of one day begin alike and end differently.
 * Throws RUN_NOT_FOUND, which names runs that may be meant.
 */
export async function findRun(home: string, part: string): Promise<string> {
  const ids = await runIds(home);
  const wanted = part.toLowerCase();
  if (ids.includes(wanted)) return wanted;
  const begins = wanted === '' ? [] : ids.filter((id) => id.startsWith(wanted));
  const matches = begins.length > 0 || wanted.length < MIN_PART ? begins : ids.filter((id) => id.includes(wanted));
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  const shown = part.slice(0, 64);
  if (matches.length > 1)
    throw new HaloError('RUN_NOT_FOUND', `"${shown}" fits ${matches.length} runs: ${some(matches)}.`, {
      hint: 'Give more characters, or the end of the run id, where ids differ.',
    });
  throw new HaloError('RUN_NOT_FOUND', `There is no run "${shown}"${nearest(ids, wanted)}.`, {
    hint: '`halo ls` shows all runs.',
  });
}

/** Newest first: run ids begin with their time. */
export async function runIds(home: string): Promise<string[]> {
  const names = await onDisk(runsFolder(home), () =>
    readdir(runsFolder(home)).catch((error: unknown) => {
      // A HALO_HOME that is a file is a mistake, and no empty home.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }),
  );
  return names
    .filter((name) => RUN_ID.test(name))
    .sort()
    .reverse();
}

function nearest(ids: readonly string[], wanted: string): string {
  for (let length = wanted.length - 1; length >= 4; length--) {
    const near = ids.filter((id) => id.startsWith(wanted.slice(0, length)));
    if (near.length > 0) return `; the nearest: ${some(near)}`;
  }
  return ids.length === 0 ? '' : `; the newest: ${some(ids)}`;
}

function some(ids: readonly string[]): string {
  return ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '');
}
