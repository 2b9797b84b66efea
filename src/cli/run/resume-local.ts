import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Operations } from '../../api/operations.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isFinished, type RunState } from '../../core/run/state.ts';
import type { Cli } from '../cli.ts';
import { carryOut, type RunHere, type Startable } from './local-run.ts';
import { defined } from '../../lib/guards.ts';

interface ResumeRequest {
  /** A run directory, an id, or the start of an id. */
  run: string;
  /** Must have the specification of the run; if absent, the run continues with its own PRD. */
  prd: PrdFile | undefined;
  /** Absolute path. */
  repo: string;
  allowDirty: boolean;
}

/**
 * Continues a run with the next unfinished story, in this process unless another one executes it, and follows it until
 * it ends.
 */
export function resumeHere<T>(request: ResumeRequest, how: RunHere<T>): Promise<T> {
  const { cli } = how;
  return carryOut(async (operations, remote): Promise<Startable> => {
    const { state, record } = await operations.getRun({
      runId: remote ? basename(request.run) : await resolveRunId(request.run, cli),
    });
    const { prd, repo, allowDirty } = request;
    const { assertResumable } = await import('../../api/runs/assert-resumable.ts');
    await assertResumable({ state, record, prd, repo: remote ? undefined : repo, allowDirty });
    const owned = await reopenIfLeft(operations, state);
    const { runId, parallel, seq: after } = state;
    return { runId, parallel, after, warnings: [], ...owned, executed: owned.owner !== undefined };
  }, how);
}

/** A run that was refused before it started, and the arguments of its `halo run`. */
export interface RefusedStart {
  state: RunState;
  args: string[];
}

/** The run of a reference if it was refused here; it never started, so it can only be run again as a new run. */
export async function findRefusedRun(run: string, cli: Cli): Promise<RefusedStart | undefined> {
  if ((await cli.services.readHost()).apiUrl !== undefined) return undefined;
  const runId = await resolveRunId(run, cli);
  const { state, record } = await cli.withOperations((operations) => operations.getRun({ runId }));
  if (state.refused === undefined || state.prdPath === '-' || !Array.isArray(record.args)) return undefined;
  return { state, args: record.args.filter((arg): arg is string => typeof arg === 'string') };
}

/**
 * The PRD of a run directory outside of HALO_HOME, which can only be started as a new run; undefined for all other
 * references. `prd`: the PRD that the user names.
 */
export async function findForeignStart(
  run: string,
  { prd, repo, cli }: { prd: string | undefined; repo: string; cli: Cli },
): Promise<string | undefined> {
  const { cwd, services } = cli;
  if ((await services.readHost()).apiUrl !== undefined || (await findRunId(run, cli)) !== undefined) return undefined;
  const given = prd === undefined ? undefined : resolve(cwd, prd);
  const { findForeignPrd } = await import('../../api/runs/foreign-run.ts');
  return findForeignPrd({ folder: resolve(cwd, run), prd: given, repo });
}

/** Continues an ended run if work is left; returns the owner if this process will do it, and warnings. */
async function reopenIfLeft(
  operations: Operations,
  state: RunState,
): Promise<Pick<ControlResult, 'owner' | 'warnings'>> {
  const { runId, status, stories } = state;
  const left = stories.some((story) => story.held === undefined && !isFinished(story));
  if (status === 'ended' && !left) return {};
  const { owner, warnings } =
    status === 'ended' ? await operations.retry({ runId }) : await operations.resume({ runId });
  return defined({ owner, warnings });
}

/**
 * The id for a reference: the name of the folder if it is that of a run, else the text itself. Throws RUN_NOT_FOUND.
 */
async function resolveRunId(run: string, cli: Cli): Promise<string> {
  const found = await findRunId(run, cli);
  if (found !== undefined) return found;
  const runs = join((await cli.services.readHost()).home, 'runs');
  throw new HaloError('RUN_NOT_FOUND', `${resolve(cli.cwd, run)} is not a run directory below ${runs}.`, {
    hint: 'Check HALO_HOME, and run `halo ls` to list all runs.',
  });
}

/** Undefined for a path that is not in HALO_HOME. */
async function findRunId(run: string, { cwd, services }: Cli): Promise<string | undefined> {
  const runs = join((await services.readHost()).home, 'runs');
  const folder = resolve(cwd, run);
  const [home, found, parent] = await Promise.all([runs, folder, dirname(folder)].map(withoutLinks));
  // A run directory may be a link to a larger disk, and its path may contain links.
  if (parent === home) return basename(folder);
  if (found !== undefined && dirname(found) === home) return basename(found);
  return !run.includes('/') && run !== '.' && run !== '..' ? run : undefined;
}

function withoutLinks(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
