import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BreakerView } from '../../api/operations/requests.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { inboxItems } from '../../tui/top/inbox-items.ts';
import { ActionButton, mayDo, EmptyState, type Person } from '../page/page-parts.tsx';
import { readJson, runPath, useLoaded } from '../page/read-server.ts';

interface InboxProps {
  runs: readonly ListedRun[];
  breakers: readonly BreakerView[];
  person: Person;
}

/** Number of entries, for the navigation and the title. */
export function countInbox(runs: readonly ListedRun[], breakers: readonly BreakerView[]): number {
  return runs.reduce((sum, run) => sum + inboxItems(run, runs).length, breakers.length);
}

/** The breakers that several runs share; those of runs are in the list of runs. */
export function useBreakers(minute: string): BreakerView[] {
  const { value } = useLoaded(`breakers ${minute}`, () =>
    readJson<{ breakers: BreakerView[] }>('/v1/breakers?shared=true'),
  );
  return value?.breakers ?? [];
}

/** What waits for a decision of a person. The keys apply to the entry that has the focus. */
export function InboxScreen({ runs, breakers, person }: InboxProps): JSX.Element {
  const entries = runs.flatMap((run) => inboxItems(run, runs).map((item) => ({ run, item })));
  return (
    <>
      <h1>Inbox</h1>
      {entries.length + breakers.length === 0 && <EmptyState title="Nothing waits for you." />}
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
