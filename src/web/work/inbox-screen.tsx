import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BreakerView } from '../../api/operations/requests.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { isDone } from '../../core/run/state.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { inboxItems } from '../../tui/top/inbox-items.ts';
import { ActionButton, mayDo, EmptyState, type Person } from '../page/page-parts.tsx';
import { readJson, runPath, useLoaded } from '../page/read-server.ts';

interface InboxProps {
  runs: readonly ListedRun[] | undefined;
  breakers: readonly BreakerView[];
  person: Person;
}

/** Number of entries, for the navigation and the title. */
export function countInbox(runs: readonly ListedRun[], breakers: readonly BreakerView[]): number {
  return runs.reduce((sum, run) => sum + inboxItems(run, runs).length, breakers.length + budgetStops(runs).length);
}

/** The breakers that several runs share; those of runs are in the list of runs. */
export function useBreakers(minute: string): BreakerView[] {
  const { value } = useLoaded(
    `breakers ${minute}`,
    () => readJson<{ breakers: BreakerView[] }>('/v1/breakers?shared=true'),
    true,
  );
  return value?.breakers ?? [];
}

/** What waits for a decision of a person. The keys apply to the entry that has the focus. */
export function InboxScreen({ runs: listed, breakers, person }: InboxProps): JSX.Element {
  const runs = listed ?? [];
  const stops = budgetStops(runs);
  const entries = runs.flatMap((run) => inboxItems(run, runs).map((item) => ({ run, item })));
  return (
    <>
      <h1>Inbox</h1>
      {listed === undefined && <EmptyState title="Reading the runs …" />}
      {listed !== undefined && entries.length + breakers.length + stops.length === 0 && (
        <EmptyState title="Nothing waits for you.">
          Questions of agents, commits to approve, open breakers and exhausted budgets appear here.
        </EmptyState>
      )}
      <ul class="runs">
        {entries.map(({ run, item }) => {
          const story = item.story?.id;
          const diff = `#/run/${run.runId}/diff${story === undefined ? '' : `/${encodeURIComponent(story)}`}`;
          return (
            <li key={`${run.runId} ${item.what} ${story ?? ''}`} class="card entry" tabIndex={0}>
              <div class="line">
                <span class="state warn">{item.what}</span>
                <a class="title" href={`#/run/${run.runId}`}>
                  {run.project === '' ? run.runId : run.project}
                </a>
                {story !== undefined && <b>{story}</b>}
              </div>
              <p class="said">{item.text}</p>
              <div class="actions">
                {item.what !== '! breaker' && <a href={diff}>Review the diff</a>}
                <EntryActions
                  run={run}
                  what={item.what}
                  story={story}
                  options={item.story?.question?.options}
                  person={person}
                />
              </div>
            </li>
          );
        })}
        {stops.map((run) => (
          <li key={`${run.runId} budget`} class="card entry" tabIndex={0}>
            <div class="line">
              <span class="state warn">! budget</span>
              <a class="title" href={`#/run/${run.runId}`}>
                {run.project === '' ? run.runId : run.project}
              </a>
            </div>
            <p class="said">{budgetText(run)}</p>
            <p class="soft">
              Raise the budget that it names, or wait for the next day (UTC) if it is a budget of the day. Then retry.
            </p>
            {mayDo(person, 'control', run.user) && (
              <div class="actions">
                <ActionButton label="Retry" shortcut="r" path={runPath(run.runId, '/retry')} />
              </div>
            )}
          </li>
        ))}
        {breakers.map(({ key, status, reason }) => (
          <li key={key} class="card entry" tabIndex={0}>
            <div class="line">
              <span class="state warn">! breaker</span> <b>{breakerName(key)}</b> is {status}
            </div>
            <p class="said">{reason}</p>
            {mayDo(person, 'operate') && (
              <div class="actions">
                <ActionButton label="Reset" shortcut="r" path="/v1/breakers/reset" body={{ key }} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The runs that ended because a budget was used up, unless a newer run works on the same PRD. */
function budgetStops(runs: readonly ListedRun[]): ListedRun[] {
  return runs.filter((run) => {
    if (run.status !== 'ended' || !run.stories.some((story) => !isDone(story))) return false;
    if (run.stopReason !== 'BUDGET_EXCEEDED' && !run.stories.some(isStoppedByBudget)) return false;
    return !runs.some(
      ({ createdAt, repo, prdPath }) =>
        createdAt > run.createdAt && repo.source === run.repo.source && prdPath === run.prdPath,
    );
  });
}

function isStoppedByBudget({ progress, stopReason }: ListedRun['stories'][number]): boolean {
  return progress === 'failed' && stopReason === 'BUDGET_EXCEEDED';
}

/** Which budget is used up. */
function budgetText({ stories, detail }: ListedRun): string {
  return stories.find(isStoppedByBudget)?.summary ?? detail ?? 'A budget is used up.';
}

interface EntryActionsProps {
  run: ListedRun;
  what: string;
  story: string | undefined;
  options: string[] | undefined;
  person: Person;
}

function EntryActions({ run, what, story, options = [], person }: EntryActionsProps): JSX.Element | null {
  const body = story === undefined ? {} : { story };
  const to = (name: string) => runPath(run.runId, `/${name}`);
  switch (what) {
    case '? answer':
      return mayDo(person, 'control', run.user) && story !== undefined ? (
        <Answer path={to('answer')} story={story} options={options} />
      ) : null;
    case '? approval':
      return mayDo(person, 'operate') ? (
        <>
          <ActionButton label="Approve" shortcut="a" tone="good" path={to('approve')} body={body} />
          <ActionButton
            label="Reject"
            shortcut="x"
            tone="bad"
            path={to('reject')}
            body={body}
            question="Reject it for good?"
          />
        </>
      ) : null;
    case '+ land':
      return mayDo(person, 'operate') ? <ActionButton label="Land" shortcut="l" tone="good" path={to('land')} /> : null;
    default:
      return mayDo(person, 'operate') ? (
        <ActionButton label="Reset" shortcut="r" path="/v1/breakers/reset" body={{ key: `run:${run.runId}` }} />
      ) : null;
  }
}

function Answer({ path, story, options }: { path: string; story: string; options: string[] }): JSX.Element {
  const [text, setText] = useState('');
  return (
    <div class="answer">
      {options.map((option, index) => (
        <ActionButton
          key={option}
          label={option}
          shortcut={String(index + 1)}
          path={path}
          body={{ story, option: index + 1 }}
        />
      ))}
      <label>
        Answer to {story}
        <textarea rows={2} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      </label>
      {text.trim() !== '' && <ActionButton label="Send the answer" tone="good" path={path} body={{ story, text }} />}
    </div>
  );
}
