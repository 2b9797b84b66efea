import type { JSX } from 'preact';
import type { WorkerView } from '../../api/operations/requests.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { formatUsd } from '../../core/budget.ts';
import { describeUnmetDependencies, type StoryState } from '../../core/run/state.ts';
import { stateCell, storyCount, timeText } from '../../tui/run-text.ts';
import { Elapsed, EmptyState, Problem } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';

interface NowProps {
  runs: readonly ListedRun[] | undefined;
  now: string;
}

/** Open runs with their stories, the newest ended runs, and the workers. */
export function NowScreen({ runs, now }: NowProps): JSX.Element {
  const minute = now.slice(0, 16);
  const workers = useLoaded(`workers ${minute}`, () => readJson<{ workers: WorkerView[] }>('/v1/workers'));
  return (
    <>
      <h1>Now</h1>
      {runs === undefined && <EmptyState title="Reading the runs …" />}
      {runs?.length === 0 && (
        <EmptyState title="No runs yet.">
          Start one with <code>halo run prd.json</code> or <code>halo submit prd.json</code>.
        </EmptyState>
      )}
      <ul class="runs">
        {[...(runs ?? [])].sort(byActivity).map((run) => (
          <RunCard key={run.runId} run={run} now={now} />
        ))}
      </ul>
      <h2>Workers</h2>
      {workers.problem !== undefined && <Problem problem={workers.problem} />}
      {workers.value?.workers.length === 0 && (
        <EmptyState title="No worker is running.">
          Start one with <code>halo worker</code>.
        </EmptyState>
      )}
      <ul class="rows">
        {workers.value?.workers.map(({ id, host, pid, since, takes }) => (
          <li key={id}>
            <strong>{host}</strong> <span>process {pid}</span>{' '}
            <span>{takes === 'own' ? 'its own runs' : 'any run'}</span>
            {since !== undefined && (
              <span>
                up <Elapsed from={since} now={now} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Open runs first. Sorting keeps the order of the server, the newest first. */
function byActivity(a: ListedRun, b: ListedRun): number {
  return Number(a.status === 'ended') - Number(b.status === 'ended');
}

function RunCard({ run, now }: { run: ListedRun; now: string }): JSX.Element {
  const { text, tone } = stateCell(run);
  return (
    <li class="card">
      <div class="line">
        <a class="title" href={`#/run/${run.runId}`}>
          {run.project === '' ? run.runId : run.project}
        </a>
        <span class={`state ${tone}`}>{text}</span>
        <span>{storyCount(run)}</span>
        <span>{timeText(run, now)}</span>
        {run.usage.costUsd !== undefined && <span>{formatUsd(run.usage.costUsd)}</span>}
      </div>
      <div class="line soft">
        <code>{run.runId}</code>
        <span>{run.repo.source}</span>
        {run.user !== undefined && <span>{run.user}</span>}
        {run.heldBy !== undefined && <span class="warn">waits for {run.heldBy}</span>}
      </div>
      {run.status !== 'ended' && <StoryChips run={run} now={now} />}
    </li>
  );
}

/** The stories of a run, each with its phase or what it waits for. */
export function StoryChips({ run, now }: { run: ListedRun; now: string }): JSX.Element {
  return (
    <ul class="chips" aria-label="Stories">
      {run.stories.map((story) => (
        <li key={story.id} class={`chip ${story.progress}`}>
          <a href={`#/run/${run.runId}/story/${encodeURIComponent(story.id)}`} title={story.title}>
            <b>{story.id}</b> {storyNow(story, run)}
            {story.progress === 'in_progress' && story.startedAt !== undefined && (
              <>
                {' '}
                <Elapsed from={story.startedAt} now={now} />
              </>
            )}
          </a>
        </li>
      ))}
    </ul>
  );
}

function storyNow(story: StoryState, run: ListedRun): string {
  if (story.waiting !== undefined)
    return `waits until ${story.waiting.notBefore.slice(11, 16)} UTC: ${story.waiting.why}`;
  if (story.progress === 'in_progress') return story.phase ?? 'starts';
  if (story.progress === 'pending') return describeUnmetDependencies(story, run) ?? 'pending';
  return story.held === undefined ? story.progress.replace('_', ' ') : 'waits for approval';
}
