import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRun, ListedRuns } from '../../api/runs/limited-runs.ts';
import { readJson, toRequestFailed, type RequestFailed } from '../page/read-server.ts';
import { isFiltered, isListed, toQuery, type RunFilter } from './run-filter.ts';

/** Read with one request. */
const PAGE = 50;
/** After the last change of a filter, in ms. */
const DELAY_MS = 250;

interface OlderRuns {
  /** Newest first. */
  runs: readonly ListedRun[];
  /** How many match that are not read yet; undefined until the server has answered. */
  left: number | undefined;
  problem?: RequestFailed;
  /** Of the next page. */
  before: string | undefined;
  /** The filter that the server has answered. */
  answered?: string;
}

const NONE: OlderRuns = { runs: [], left: undefined, before: undefined };

/**
 * The ended runs of the server that match and are older than `oldest`, from which on the page follows all (undefined: not
 * known yet; empty: it follows all ended runs). With a filter, the first page is read, too. Until the server has answered a
 * new filter, these are the runs that it found with the last one. `followed`: an open run of those may be older and end.
 */
export function useOlderRuns(
  filter: RunFilter,
  oldest: string | undefined,
  followed: readonly ListedRun[] = [],
): OlderRuns & { readMore: () => void } {
  const [found, setFound] = useState<OlderRuns>(NONE);
  const latest = useRef(0);
  const { shown, find, from, to } = filter;
  const isKnown = oldest !== undefined;
  const asked = [shown, from, to, find].join(' ');
  const latestFollowed = useRef(followed);
  latestFollowed.current = followed;
  const read = async (before: string, newest: number, known: readonly ListedRun[]) => {
    const query = before === '' ? undefined : toQuery(filter, { newest, before });
    const turn = (latest.current += 1);
    if (query === undefined) return setFound({ ...NONE, left: 0, answered: asked });
    try {
      const { runs, omitted, next = before } = await readJson<ListedRuns>(`/v1/runs?${query}`);
      // Another filter has been chosen.
      if (turn !== latest.current) return;
      const shown = latestFollowed.current.filter(
        (run) => run.status === 'ended' && run.runId < next && isListed(run, false, filter),
      );
      setFound({
        runs: [...known, ...runs],
        left: Math.max(0, omitted.ended - shown.length),
        before: next,
        answered: asked,
      });
    } catch (error) {
      const retry = () => void read(before, newest, known);
      const problem = Object.assign(toRequestFailed(error), { retry });
      if (turn === latest.current) setFound((old) => ({ ...old, left: 0, problem, answered: asked }));
    }
  };
  useEffect(() => {
    if (!isKnown) return undefined;
    latest.current += 1;
    const timer = setTimeout(() => void read(oldest, isFiltered(filter) ? PAGE : 0, []), find === '' ? 0 : DELAY_MS);
    return () => clearTimeout(timer);
  }, [shown, find, from, to, isKnown]);
  const known = found.answered === asked ? found : { ...NONE, runs: found.runs };
  return { ...known, readMore: () => void (found.before !== undefined && read(found.before, PAGE, found.runs)) };
}
