import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Cli } from '../cli.ts';

/** The argument of every command about one run. */
export const RUN_ARGUMENT = [
  '[runId]',
  'any unique part of a run id; @ or -1 for the newest run of this repository (default), -2 for the one before',
] as const;

/**
 * The run that a person means, as an id or a part of one for the operations. Without a reference, and for `@` and `-N`,
 * it is one of the repository that `cwd` is in, counted from the newest, and is named on stderr. Throws RUN_NOT_FOUND.
 */
export async function resolveRun(operations: Operations, reference: string | undefined, cli: Cli): Promise<string> {
  const place = placeFromNewest(reference);
  if (place === undefined) return reference ?? '';
  const repository = await findRepository(cli.cwd);
  const runs = (await operations.list()).filter(({ repo }) => repo.source === repository);
  const run = runs[place];
  if (run !== undefined) {
    await cli.note(cli.paintErr('quiet', `run ${run.runId}`));
    return run.runId;
  }
  const found =
    runs.length === 0 ? 'No run has' : runs.length === 1 ? 'Only one run has' : `Only ${runs.length} runs have`;
  throw new HaloError('RUN_NOT_FOUND', `${found} been made in ${repository}.`, {
    hint: 'Name a run by its id: `halo ls` lists all runs.',
  });
}

/** 0 for the newest run; undefined for a reference that is an id. */
function placeFromNewest(reference: string | undefined): number | undefined {
  if (reference === undefined || reference === '@') return 0;
  return /^@?-[1-9]\d{0,3}$/.test(reference) ? Number(reference.replace(/^@?-/, '')) - 1 : undefined;
}

/** The top of the checkout that a folder is in, or the folder itself; links are resolved, as in the journal of a run. */
export async function findRepository(folder: string): Promise<string> {
  const start = await realpath(folder).catch(() => folder);
  for (let at = start; ; at = dirname(at)) {
    if ((await stat(join(at, '.git')).catch(() => undefined)) !== undefined) return at;
    if (at === dirname(at)) return start;
  }
}
