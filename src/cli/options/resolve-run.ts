import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Operations } from '../../api/operations.ts';
import type { ListedRun, ListQuery } from '../../api/runs/limited-runs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';

/** The argument of every command about one run. */
export const RUN_ARGUMENT = [
  '[runId]',
  'any unique part of a run id; @ or -1 for the newest run of this repository (default), -2 for the one before',
] as const;

interface Caller {
  /** Absolute. */
  cwd: string;
  paintErr: Paint;
  /** Writes lines to stderr. */
  note(...lines: string[]): Promise<void>;
}

/**
 * Returns the id, or part of an id, by which the operations find the run. Without a reference, and for `@` and `-N`,
 * this is a run of the repository that contains `cwd`, counted from the newest; its id is printed on stderr. Runs that were
 * refused before they started count only if there are no others. Throws RUN_NOT_FOUND.
 */
export async function resolveRun(operations: Operations, reference: string | undefined, cli: Caller): Promise<string> {
  const place = placeFromNewest(reference);
  if (place === undefined) return reference ?? '';
  const repository = await resolveRepository(cli.cwd);
  const all: RunState[] = [];
  let started: RunState[] = [];
  for await (const page of pageRuns(operations, { repo: repository })) {
    all.push(...page);
    started = all.filter(({ refused }) => refused !== true);
    if (started.length > place) break;
  }
  const runs = started.length === 0 ? all : started;
  const run = runs[place];
  if (run !== undefined) {
    await cli.note(cli.paintErr('quiet', `run ${run.runId}`));
    return run.runId;
  }
  const found =
    runs.length === 0
      ? 'There is no run'
      : runs.length === 1
        ? 'There is only one run'
        : `There are only ${runs.length} runs`;
  throw new HaloError('RUN_NOT_FOUND', `${found} of ${repository}.`, {
    hint: 'Pass a run id. Run `halo ls` to list all runs.',
  });
}

/** 0 for the newest run; undefined for a reference that is an id. */
function placeFromNewest(reference: string | undefined): number | undefined {
  if (reference === undefined || reference === '@') return 0;
  return /^@?-[1-9]\d{0,3}$/.test(reference) ? Number(reference.replace(/^@?-/, '')) - 1 : undefined;
}

/**
 * The top of the checkout that contains a folder, or the folder itself, with links resolved as in the journal of a run.
 */
export async function resolveRepository(folder: string): Promise<string> {
  const start = await realpath(folder).catch(() => folder);
  for (let at = start; ; at = dirname(at)) {
    if ((await stat(join(at, '.git')).catch(() => undefined)) !== undefined) return at;
    if (at === dirname(at)) return start;
  }
}

/** Runs of the first page, and of all pages: the first one usually has the wanted run. */
const FIRST_PAGE = 50;
const MAX_PAGE = 1_000;

/**
 * Runs in pages, the newest first, so that a caller that has found enough runs need not wait for all others. Pages grow, so
 * that a caller that has not found any reads all of them in few requests.
 */
async function* pageRuns(
  operations: Pick<Operations, 'listRuns'>,
  range: Omit<ListQuery, 'open' | 'ended' | 'newest'> = {},
): AsyncGenerator<ListedRun[]> {
  let before = range.before;
  for (let size = FIRST_PAGE; ; size = Math.min(MAX_PAGE, size * 4)) {
    const { runs, next } = await operations.listRuns({ ...range, before, newest: size });
    yield runs;
    if (next === undefined) return;
    before = next;
  }
}

/** The batches, newest first, each in the order in which its runs run. */
export function groupRuns(runs: readonly RunState[]): Map<string, RunState[]> {
  const batches = new Map<string, RunState[]>();
  for (const run of runs) {
    if (run.batch === undefined) continue;
    batches.set(run.batch.id, [...(batches.get(run.batch.id) ?? []), run]);
  }
  for (const members of batches.values()) members.sort((a, b) => placeOf(a) - placeOf(b));
  return batches;
}

function placeOf({ batch }: RunState): number {
  return batch?.place ?? 0;
}

/** The only batch whose id contains `part`, and its runs. Throws RUN_NOT_FOUND. */
export function findBatch(batches: ReadonlyMap<string, RunState[]>, part: string): [string, RunState[]] {
  const found = [...batches].filter(([id]) => id.includes(part.toLowerCase()));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const what = only === undefined ? 'There is no batch' : `${found.length} batches have ids with`;
  throw new HaloError('RUN_NOT_FOUND', `${what} ${JSON.stringify(part.slice(0, 64))}.`, {
    hint: 'Run `halo batch` to list them.',
  });
}
