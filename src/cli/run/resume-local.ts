import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Operations, PrdBytes } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isFinished } from '../../core/progress.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Cli } from '../cli.ts';
import { carryOut, type RunHere, type Startable } from './local-run.ts';

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
    const { state, record } = await operations.get(remote ? basename(request.run) : await findRun(request.run, cli));
    const { prd, repo, allowDirty } = request;
    await cli.services.checkResume({ state, record, prd, repo: remote ? undefined : repo, allowDirty });
    const owned = await letGoOn(operations, state);
    const { runId, parallel, seq: after } = state;
    return { runId, parallel, after, warnings: [], ...owned, executed: owned.owner !== undefined };
  }, how);
}

/** What ended goes on where something of it is left to do; the worker that shall do it is named when it is ours. */
async function letGoOn(operations: Operations, state: RunState): Promise<{ owner?: string }> {
  const { runId, status, stories } = state;
  const left = stories.some((story) => story.held === undefined && !isFinished(story));
  if (status === 'ended' && !left) return {};
  const { owner } = status === 'ended' ? await operations.retry(runId, undefined) : await operations.resume(runId, {});
  return owner === undefined ? {} : { owner };
}

/** The id that is meant: of the folder of that name, where it is a run's, else the text itself. Throws RUN_NOT_FOUND. */
async function findRun(run: string, { cwd, services }: Cli): Promise<string> {
  const runs = join((await services.readHost()).home, 'runs');
  const folder = resolve(cwd, run);
  const [home, found, parent] = await Promise.all([runs, folder, dirname(folder)].map(withoutLinks));
  // A run directory may be a link to a larger disk, and a link may lead to one.
  if (parent === home) return basename(folder);
  if (found !== undefined && dirname(found) === home) return basename(found);
  if (!run.includes('/')) return run;
  throw new HaloError('RUN_NOT_FOUND', `${folder} is not a run directory below ${runs}.`, {
    hint: '`halo ls` shows all runs; HALO_HOME says where they are.',
  });
}

function withoutLinks(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
