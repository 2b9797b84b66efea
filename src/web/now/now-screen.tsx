import type { JSX } from 'preact';
import { isIn } from '../../core/run/progress.ts';
import { useMemo, useState } from 'preact/hooks';
import type { WorkerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { formatUsd } from '../../core/budget.ts';
import type { StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { asksPerson, inboxItems, type InboxItem } from '../../view/inbox.ts';
import { MissingWorker, WorkerList } from './worker-list.tsx';
import { ClockRange } from '../page/clock-time.tsx';
import { ChoiceOfOne, EmptyState, Figure, Problem, type Person } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { runWords, storyCount, timeText } from '../../view/run-words.ts';
import { cellOf, isWorking, storyWords, workText } from '../../view/story-words.ts';
import { whyRunWaits } from '../../view/waiting.ts';
import { useAddressQuery } from '../page/address-query.ts';

interface NowProps {
  runs: readonly ListedRun[] | undefined;
  now: string;
  person: Person;
}

/** Drawn without a request for more. */
const PAGE = 50;

/** Open runs with their stories, the newest ended runs, and the workers. */
export function NowScreen({ runs, now, person }: NowProps): JSX.Element {
  const [{ shown, text }, setFilter] = useRunFilter();
  const [limit, setLimit] = useState(PAGE);
  const [changes, setChanges] = useState(0);
  const { value, problem } = useLoaded(
    `workers ${now.slice(0, 18)} ${changes}`,
    () => readJson<{ workers: WorkerView[] }>('/v1/workers'),
    true,
  );
  const sorted = useMemo(() => [...(runs ?? [])].sort(byActivity), [runs]);
  const { asking, toLand } = useMemo(() => sortByItems(sorted), [sorted]);
  const found = useMemo(
    () => sorted.filter((run) => isShown(run, asking.has(run), shown) && matches(run, text)),
    [sorted, asking, shown, text],
  );
  const page = found.slice(0, limit);
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
          <Counts runs={runs} asking={asking.size} toLand={toLand.size} workers={value?.workers} />
          <div class="tools filter">
            <ChoiceOfOne
              label="Runs"
              options={SHOWN.map((name) => ({ value: name, name }))}
              value={shown}
              onChange={(next) => {
                setFilter({ shown: next, text });
                setLimit(PAGE);
              }}
            />
            <input
              type="search"
              aria-label="Find runs"
              placeholder="Project, story, repository, user, state or id"
              value={text}
              onInput={({ currentTarget }) => setFilter({ shown, text: currentTarget.value })}
            />
          </div>
          {found.length === 0 && <EmptyState title="No run matches." />}
        </>
      )}
      <ul class="runs">
        {page.map((run) => (
          <RunCard key={run.runId} run={run} now={now} needsPerson={asking.has(run)} />
        ))}
      </ul>
      {found.length > page.length && (
        <div class="actions">
          <button type="button" onClick={() => setLimit(limit + PAGE)}>
            Show more
          </button>
          <span class="soft">
            {page.length} of {found.length} runs
          </span>
        </div>
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

interface CountsProps {
  runs: readonly ListedRun[];
  /** The number of runs that wait for a person. */
  asking: number;
  /** The number of runs whose result is not on a branch yet. */
  toLand: number;
  workers: readonly WorkerView[] | undefined;
}

function Counts({ runs, asking, toLand, workers = [] }: CountsProps): JSX.Element {
  const open = runs.filter(({ status }) => status !== 'ended');
  const stories = open.flatMap((run) => run.stories);
  const running = open.flatMap((run) => run.stories.filter((story) => isWorking(story, run))).length;
  const delayed = stories.filter(({ waiting }) => waiting !== undefined).length;
  const slots = workers.reduce((sum, { slots = 0, busy = 0, draining }) => sum + (draining ? busy : slots), 0);
  const busy = workers.reduce((sum, worker) => sum + (worker.busy ?? 0), 0);
  return (
    <dl class="figures">
      <Figure name="Open runs" value={String(open.length)} />
      <Figure name="Running stories" value={String(running)} />
      <Figure name="Waiting for a person" value={String(asking)} />
      <Figure name="Results to land" value={String(toLand)} />
      <Figure name="Waiting to retry" value={String(delayed)} />
      <Figure
        name="Workers"
        value={String(workers.length)}
        {...(slots > 0 && { more: `${busy} of ${slots} slots busy` })}
      />
    </dl>
  );
}

/** Runs that work first, then other open runs. Sorting keeps the order of the server, the newest first. */
function byActivity(a: ListedRun, b: ListedRun): number {
  const rank = (run: ListedRun) => (run.status === 'ended' ? 2 : isActive(run) ? 0 : 1);
  return rank(a) - rank(b);
}

function isActive(run: ListedRun): boolean {
  return run.stories.some((story) => isWorking(story, run));
}

/** What the inbox has of the runs: those that cannot continue without a person, and those whose result can land. */
function sortByItems(runs: readonly ListedRun[]): { asking: Set<ListedRun>; toLand: Set<ListedRun> } {
  const having = (wanted: (item: InboxItem) => boolean) =>
    new Set(runs.filter((run) => inboxItems(run, runs).some(wanted)));
  return { asking: having(asksPerson), toLand: having(({ kind }) => kind === 'land') };
}

function isShown(run: ListedRun, isAsking: boolean, shown: Shown): boolean {
  if (shown === 'all') return true;
  if (shown === 'waiting' && isAsking) return true;
  if (shown === 'ended') return run.status === 'ended' && !isAsking;
  return run.status !== 'ended' && isActive(run) === (shown === 'running');
}

/** Whether each word is part of a text of the run. */
function matches(run: ListedRun, text: string): boolean {
  const stories = run.stories.map(({ id, title }) => `${id} ${title}`).join(' ');
  const all =
    `${run.project} ${run.runId} ${run.repo.source} ${run.user} ${runWords(run).text} ${stories}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

interface RunCardProps {
  run: ListedRun;
  now: string;
  needsPerson: boolean;
}

function RunCard({ run, now, needsPerson }: RunCardProps): JSX.Element {
  const words = runWords(run);
  const waits = waitsOf(run);
  return (
    <li class="card">
      <div class="line">
        <a class="title" href={`#/run/${run.runId}`}>
          {run.project === '' ? run.runId : safeLine(run.project)}
        </a>
        <span class={`state ${words.tone}`}>{cellOf(words).text}</span>
        <span>{storyCount(run)}</span>
        <span>{timeText(run, now)}</span>
        {run.endedAt !== undefined && (
          <span class="soft">
            <ClockRange from={run.startedAt ?? run.createdAt} to={run.endedAt} />
          </span>
        )}
        {run.usage.costUsd !== undefined && <span>{formatUsd(run.usage.costUsd)}</span>}
      </div>
      <div class="line soft">
        <code>{run.runId}</code>
        <span>{safeLine(run.repo.source)}</span>
        <span>{safeLine(run.user)}</span>
      </div>
      {needsPerson && (
        <p class="waits warn">
          Waits for a person: <a href="#/inbox">open the inbox</a>
        </p>
      )}
      {waits.map((why) => (
        <p key={why} class="waits warn">
          {safeLine(why, 400)}
        </p>
      ))}
      <StoryChips run={run} now={now} />
    </li>
  );
}

/** Why an open run makes no progress, one sentence per reason. A missing worker concerns all runs, so the screen says it once. */
function waitsOf(run: ListedRun): string[] {
  const reasons = whyRunWaits({ state: run, ...(run.heldBy && { heldBy: run.heldBy }) });
  return reasons.map((reason) => reason.replaceAll('`', '').replace(/^./, (first) => first.toUpperCase()));
}

/** The stories of a run, each with its phase or what it waits for; of an ended run those that failed or need a person. */
function StoryChips({ run, now }: { run: ListedRun; now: string }): JSX.Element | null {
  const stories = run.status === 'ended' ? run.stories.filter((story) => isIn('stuck', story)) : run.stories;
  if (stories.length === 0) return null;
  return (
    <ul class="chips" aria-label="Stories">
      {stories.map((story) => (
        <li key={story.id} class={`chip ${storyWords(story, run, now).tone}`}>
          <a href={`#/run/${run.runId}/story/${encodeURIComponent(story.id)}`} title={safeLine(story.title)}>
            <b>{safeLine(story.id)}</b>
            {(isIn('stuck', story) || isWorking(story, run)) && <span class="chip-title">{safeLine(story.title)}</span>}
            <span class="soft">{safeLine(storyNow(story, run, now), 400)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function storyNow(story: StoryState, run: ListedRun, now: string): string {
  const text = workText(story, run, now);
  return story.waiting === undefined ? text : `${text}: ${story.waiting.why}`;
}

/** Which runs a list has; those that wait include runs that ended until a person decides. */
const SHOWN = ['all', 'running', 'waiting', 'ended'] as const;
type Shown = (typeof SHOWN)[number];

interface RunFilter {
  shown: Shown;
  /** Words that are parts of the texts of a run. */
  text: string;
}

/** The filter of the screen Now, which the address keeps. */
function useRunFilter(): [filter: RunFilter, change: (next: RunFilter) => void] {
  const [query, change] = useAddressQuery();
  const shown = SHOWN.find((each) => each === query.get('runs')) ?? 'all';
  return [
    { shown, text: query.get('find') ?? '' },
    (next) => change({ runs: next.shown === 'all' ? '' : next.shown, find: next.text }),
  ];
}
