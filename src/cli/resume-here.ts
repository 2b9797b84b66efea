import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Operations, PrdBytes } from '../api/operations.ts';
import { HaloError } from '../core/errors.ts';
import type { RunState } from '../core/run-state.ts';
import type { Cli } from './cli.ts';
import { carryOut, type RunHere, type Startable } from './run-here.ts';

export interface ResumeRequest {
  /** A run directory, or an id or the start of one. */
  run: string;
  /** Must be what the run was made for; absent: it goes on with the PRD that it has. */
  prd: PrdBytes | undefined;
  /** Absolute path. */
  repo: string;
  allowDirty: boolean;
}

/** Lets a run go on with the next unfinished story, in this process unless somebody else works on it, and shows it to its end. */
export function resumeHere<T>(request: ResumeRequest, how: RunHere<T>): Promise<T> {
  const { cli } = how;
  return carryOut(async (operations, remote): Promise<Startable> => {
    const { state, record } = await operations.get(await findRun(request.run, cli));
    const { prd, repo, allowDirty } = request;
    const { specHash } = record.prd as { specHash?: string };
    await cli.services.checkResume({ state, specHash, prd, repo: remote ? undefined : repo, allowDirty });
    const owned = await letGoOn(operations, state);
    const { runId, parallel, seq: after } = state;
    return { runId, parallel, after, warnings: [], ...owned, executed: owned.owner !== undefined };
  }, how);
}

/** What ended goes on where something of it is left to do; the worker that shall do it is named when it is ours. */
async function letGoOn(operations: Operations, state: RunState): Promise<{ owner?: string }> {
  const { runId, status, stories, refused } = state;
  const left = stories.some(({ progress, held }) => held === undefined && !FINISHED.includes(progress));
  if (status === 'ended' && !left && refused === undefined) return {};
  const { owner } = status === 'ended' ? await operations.retry(runId, undefined) : await operations.resume(runId, {});
  return owner === undefined ? {} : { owner };
}

const FINISHED: RunState['stories'][number]['progress'][] = ['passed', 'done', 'skipped'];

/** The id that is meant. Throws RUN_NOT_FOUND for a folder that is no run of this home. */
async function findRun(run: string, { cwd, services }: Cli): Promise<string> {
  if (!run.includes('/')) return run;
  const runs = join((await services.readHost()).home, 'runs');
  const folder = resolve(cwd, run);
  const [found, expected] = await Promise.all([folder, runs].map((path) => realpath(path).catch(() => path)));
  if (found !== undefined && expected === dirname(found)) return basename(found);
  throw new HaloError('RUN_NOT_FOUND', `${folder} is not a run directory below ${runs}.`, {
    hint: '`halo ls` shows all runs; HALO_HOME says where they are.',
  });
}
