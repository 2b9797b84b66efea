import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { WorkerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { MAX_FIND_LENGTH } from '../../core/listing/run-facts.ts';
import { isIn } from '../../core/run/progress.ts';
import { asksPerson, inboxItems } from '../../view/inbox.ts';
import { isWorking } from '../../view/story-words.ts';
import { EmptyState, Problem, type Person } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { useOlderRuns } from './older-runs.ts';
import {
  dayBefore,
  isActive,
  isFiltered,
  isListed,
  SHOWN,
  useRunFilter,
  type RunFilter,
  type Shown,
} from './run-filter.ts';
import { RunRow } from './run-row.tsx';
import { MissingWorker, WorkerList } from './worker-list.tsx';

interface NowProps {
  runs: readonly ListedRun[] | undefined;
  /** The page follows all ended runs from this one on; empty: all. */
  oldest: string | undefined;
  now: string;
  person: Person;
}

/** Drawn without a request for more. */
const PAGE = 50;

/** Open and ended runs with their stories, and the workers. */
export function NowScreen({ runs, oldest, now, person }: NowProps): JSX.Element {
  const [filter, setFilter, linkTo] = useRunFilter();
  const [limit, setLimit] = useState(PAGE);
  const [changes, setChanges] = useState(0);
  const { value, problem } = useLoaded(
    `workers ${now.slice(0, 18)} ${changes}`,
    () => readJson<{ workers: WorkerView[] }>('/v1/workers'),
    true,
  );
  const older = useOlderRuns(filter, oldest, runs);
  const all = useMemo(() => {
    // A retry makes an older run one of those that the page follows.
    const followed = new Set(runs?.map(({ runId }) => runId));
    return [...(runs ?? []), ...older.runs.filter(({ runId }) => !followed.has(runId))].sort(byActivity);
  }, [runs, older.runs]);
  const asking = useMemo(() => new Set(all.filter((run) => inboxItems(run, all).some(asksPerson))), [all]);
  const found = useMemo(
    () => all.filter((run) => isListed(run, asking.has(run), filter)),
    [all, asking, filter.shown, filter.find, filter.from, filter.to],
  );
  const page = found.slice(0, limit);
  const change = (next: Partial<RunFilter>) => {
    setFilter(next);
    setLimit(PAGE);
  };
  return (
    <>
      <h1>Now</h1>
      {runs === undefined && <EmptyState title="Reading the runs …" />}
      {runs?.length === 0 && (
        <EmptyState title="No runs yet.">
          Start one with <code>halo run prd.json</code> or <code>halo submit prd.json</code>, or{' '}
          <a href="#/submit">submit a PRD here</a>.
        </EmptyState>
      )}
      {runs !== undefined && runs.length > 0 && (
        <>
          {value !== undefined && <MissingWorker runs={runs} workers={value.workers} />}
          <Counts {...{ runs, asking, workers: value?.workers, shown: filter.shown, linkTo }} />
          <FilterBar filter={filter} onChange={change} />
          {older.problem !== undefined && <Problem problem={older.problem} />}
          {found.length === 0 && older.left === undefined && <EmptyState title="Searching all runs …" />}
          {found.length === 0 && older.left === 0 && <EmptyState title="No run matches." />}
        </>
      )}
      <ul class="run-list" aria-label="Runs">
        {page.map((run) => (
          <RunRow key={run.runId} run={run} now={now} isAsking={asking.has(run)} find={filter.find} />
        ))}
      </ul>
      {page.length > 0 && (
        <ShowMore
          shown={page.length}
          total={older.left === undefined ? undefined : found.length + older.left}
          onMore={() => {
            setLimit(limit + PAGE);
            if (found.length < limit + PAGE) older.readMore();
          }}
        />
      )}
      <h2>Workers</h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value !== undefined && (
        <WorkerList
          workers={value.workers}
          now={now}
          person={person}
          onChange={() => setChanges((count) => count + 1)}
        />
      )}
    </>
  );
}

/** How many runs there are, and a button for more of them. `total`: undefined until it is known. */
function ShowMore({ shown, total, onMore }: { shown: number; total: number | undefined; onMore: () => void }) {
  return (
    <div class="actions">
      {(total === undefined || total > shown) && (
        <button type="button" disabled={total === undefined} onClick={onMore}>
          Show more
        </button>
      )}
      <span class="soft" role="status">
        {total === undefined
          ? `${shown} ${shown === 1 ? 'run' : 'runs'}, looking for older ones …`
          : `${shown} of ${total} ${total === 1 ? 'run' : 'runs'}`}
      </span>
    </div>
  );
}

function FilterBar({ filter, onChange }: { filter: RunFilter; onChange: (next: Partial<RunFilter>) => void }) {
  return (
    <div class="tools filter" role="search">
      <input
        type="search"
        aria-label="Find runs"
        placeholder="Project, story, repository, user, state or id"
        maxLength={MAX_FIND_LENGTH}
        value={filter.find}
        onInput={({ currentTarget }) => onChange({ find: currentTarget.value })}
      />
      <select
        aria-label="State"
        value={filter.shown}
        onChange={({ currentTarget }) => onChange({ shown: currentTarget.value as Shown })}
      >
        {Object.entries(SHOWN).map(([value, { name }]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <label>
        From{' '}
        <input
          type="date"
          value={filter.from}
          onInput={({ currentTarget }) => onChange({ from: currentTarget.value })}
        />
      </label>
      <label>
        to{' '}
        <input type="date" value={filter.to} onInput={({ currentTarget }) => onChange({ to: currentTarget.value })} />
      </label>
      <button type="button" onClick={() => onChange({ from: dayBefore(6), to: '' })}>
        Last 7 days
      </button>
      {isFiltered(filter) && (
        <button type="button" onClick={() => onChange({ shown: 'all', find: '', from: '', to: '' })}>
          Clear
        </button>
      )}
    </div>
  );
}

interface CountsProps {
  runs: readonly ListedRun[];
  /** The runs that cannot continue without a person. */
  asking: ReadonlySet<ListedRun>;
  workers: readonly WorkerView[] | undefined;
  shown: Shown;
  linkTo: (shown: Shown) => string;
}

/** Counters, each a link to the list of what it counts; the one that is chosen leads back to all runs. */
function Counts({ runs, asking, workers = [], shown, linkTo }: CountsProps): JSX.Element {
  const open = runs.filter(({ status }) => status !== 'ended');
  const stories = open.flatMap((run) => run.stories.filter((story) => isWorking(story, run)));
  const delayed = open.flatMap((run) =>
    run.stories.filter((story) => story.waiting !== undefined && isIn('open', story)),
  );
  const left = runs.filter((run) => isListed(run, false, { shown: 'left', find: '', from: '', to: '' }));
  const slots = workers.reduce((sum, { slots = 0, busy = 0, draining }) => sum + (draining ? busy : slots), 0);
  const busy = workers.reduce((sum, worker) => sum + (worker.busy ?? 0), 0);
  const counters: { to: Shown; count: number; name: string; more?: string }[] = [
    { to: 'open', count: open.length, name: open.length === 1 ? 'open run' : 'open runs' },
    {
      ...{ to: 'running', count: stories.length, name: stories.length === 1 ? 'running story' : 'running stories' },
      more: delayed.length === 0 ? '' : `${delayed.length} delayed`,
    },
    { to: 'person', count: asking.size, name: asking.size === 1 ? 'waits for a person' : 'wait for a person' },
    { to: 'left', count: left.length, name: left.length === 1 ? 'result to land' : 'results to land' },
  ];
  return (
    <nav class="counters" aria-label="Counters">
      {counters.map(({ to, count, name, more = '' }) => (
        <a key={to} href={linkTo(to === shown ? 'all' : to)} aria-current={to === shown ? 'true' : undefined}>
          <b>{count}</b> {name}
          {more !== '' && <span class="soft">, {more}</span>}
        </a>
      ))}
      <span>
        <b>{workers.length}</b> {workers.length === 1 ? 'worker' : 'workers'}
        {slots > 0 && (
          <span class="soft">
            , {busy} of {slots} slots busy
          </span>
        )}
      </span>
    </nav>
  );
}

/** Runs that work first, then other open runs, each the newest first. */
function byActivity(a: ListedRun, b: ListedRun): number {
  const rank = (run: ListedRun) => (run.status === 'ended' ? 2 : isActive(run) ? 0 : 1);
  return rank(a) - rank(b) || (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0);
}
