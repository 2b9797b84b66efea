import type { Operations } from '../../api/operations.ts';
import type { ListedRun, ListQuery } from '../../api/runs/limited-runs.ts';

/** Runs of the first page, and of all pages: the first one usually has the wanted run. */
const FIRST_PAGE = 50;
const MAX_PAGE = 1_000;

/**
 * Runs in pages, the newest first, so that a caller that has found enough runs need not wait for all others. Pages grow, so
 * that a caller that has not found any reads all of them in few requests.
 */
export async function* pageRuns(
  operations: Pick<Operations, 'listSome'>,
  range: Omit<ListQuery, 'open' | 'ended' | 'newest'> = {},
): AsyncGenerator<ListedRun[]> {
  let before = range.before;
  for (let size = FIRST_PAGE; ; size = Math.min(MAX_PAGE, size * 4)) {
    const { runs, omitted, next } = await operations.listSome({ ...range, before, newest: size });
    if (next === undefined && omitted.open + omitted.ended > 0) {
      // An older server has no pages.
      yield (await operations.listSome({})).runs;
      return;
    }
    yield runs;
    if (next === undefined) return;
    before = next;
  }
}
