import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatUsd } from '../../core/budget.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';
import { stateCell, storyCount, timeText } from '../../tui/run-text.ts';
import { StoryChips } from '../work/now-screen.tsx';
import { ActionButton, mayDo, EmptyState, Problem, type Person } from '../page/page-parts.tsx';
import { toPhaseBars, type AttemptBars } from './phase-bars.ts';
import { openEvents, RequestFailed, runPath } from '../page/read-server.ts';

interface RunScreenProps {
  runId: string;
  /** Only the log of this story. */
  story: string | undefined;
  /** `seq` of the event that a link points to. */
  seq: number | undefined;
  now: string;
  person: Person;
  onConnection: (isOpen: boolean) => void;
}

/** Drawn at once; a filter finds the others. */
const MAX_LINES = 2_000;

/** One run: its stories, attempts and phases, and its log, all computed from the events of its journal. */
export function RunScreen({ runId, story, seq, now, person, onConnection }: RunScreenProps): JSX.Element {
  const { events, state, problem } = useJournal(runId, onConnection);
  const attempts = useMemo(() => toPhaseBars(events), [events]);
  if (problem !== undefined) return <Problem problem={problem} />;
  if (state === undefined) return <EmptyState title="Reading the journal …" />;
  const { text, tone } = stateCell(state);
  const to = (name: string) => runPath(runId, `/${name}`);
  return (
    <>
      <h1>{state.project === '' ? runId : state.project}</h1>
      <div class="line">
        <span class={`state ${tone}`}>{text}</span>
        <span>{storyCount(state)} stories</span>
        <span>{timeText(state, now)}</span>
        {state.usage.costUsd !== undefined && <span>{formatUsd(state.usage.costUsd)}</span>}
        <code>{runId}</code>
        <span class="soft">{state.repo.source}</span>
      </div>
      {state.detail !== undefined && <p class="said">{state.detail}</p>}
      <div class="actions">
        <a href={`#/run/${runId}/diff`}>Diff</a>
        {mayDo(person, 'control', state.user) && state.status !== 'ended' && (
          <>
            {state.paused === undefined ? (
              <ActionButton label="Pause" shortcut="p" path={to('pause')} />
            ) : (
              <ActionButton label="Resume" shortcut="p" path={to('resume')} />
            )}
            <ActionButton label="Cancel" tone="bad" path={to('cancel')} question={`Cancel run ${runId}?`} />
          </>
        )}
      </div>
      <h2>Stories</h2>
      <StoryChips run={state} now={now} />
      <h2>Attempts</h2>
      <Waterfall attempts={attempts} elapsed={sinceStart(state, now)} />
      <RunLog runId={runId} events={events} startedAt={state.startedAt ?? state.createdAt} story={story} seq={seq} />
    </>
  );
}

function useJournal(runId: string, onConnection: (isOpen: boolean) => void) {
  const [journal, setJournal] = useState<{ events: JournalEvent[]; state?: RunState | undefined }>({ events: [] });
  const [problem, setProblem] = useState<RequestFailed>();
  useEffect(() => {
    setJournal({ events: [] });
    setProblem(undefined);
    return openEvents<{ event: JournalEvent }>(runPath(runId, '/events?follow=true'), {
      onConnection,
      onProblem: (message) => setProblem(new RequestFailed(message)),
      onFrames: (frames) =>
        setJournal(({ events, state }) => {
          const fresh = frames.map(({ event }) => event);
          return { events: [...events, ...fresh], state: fresh.reduce(applyEvent, state) };
        }),
    });
  }, [runId]);
  return { ...journal, problem };
}

function sinceStart({ startedAt, endedAt }: RunState, now: string): number {
  return startedAt === undefined ? 0 : Date.parse(endedAt ?? now) - Date.parse(startedAt);
}

function Waterfall({ attempts, elapsed }: { attempts: readonly AttemptBars[]; elapsed: number }): JSX.Element {
  if (attempts.length === 0) return <EmptyState title="No attempt has started." />;
  const total = Math.max(1, elapsed, ...attempts.flatMap(({ bars }) => bars.map(({ from, to }) => to ?? from)));
  return (
    <ol class="waterfall">
      {attempts.map(({ story, attempt, bars, ended, summary }) => (
        <li key={`${story} ${attempt}`}>
          <span class="label" title={summary}>
            <b>{story}</b> attempt {attempt} <span class={ended === 'SUCCESS' ? 'good' : 'warn'}>{ended ?? '…'}</span>
          </span>
          <span class="track">
            {bars.map(({ phase, from, to = total }) => (
              <span
                key={`${phase} ${from}`}
                class={`bar ${phase}`}
                style={{ left: `${(from / total) * 100}%`, width: `${(Math.max(0, to - from) / total) * 100}%` }}
                title={`${phase} ${formatElapsed(to - from)}`}
              />
            ))}
          </span>
          <span class="phases">
            {bars.map(({ phase, from, to = total }) => `${phase} ${formatElapsed(to - from)}`).join(' · ')}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface RunLogProps {
  runId: string;
  events: readonly JournalEvent[];
  startedAt: string;
  story: string | undefined;
  seq: number | undefined;
}

function RunLog({ runId, events, startedAt, story, seq }: RunLogProps): JSX.Element {
  const [filter, setFilter] = useState('');
  const [follows, setFollows] = useState(seq === undefined);
  const end = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => toLines(events, runId), [events, runId]);
  const found = lines.filter(
    (line) => (story === undefined || line.story === story) && line.text.toLowerCase().includes(filter.toLowerCase()),
  );
  const first = seq === undefined ? -MAX_LINES : Math.max(0, found.findIndex((line) => line.seq === seq) - 100);
  const shown = first < 0 ? found.slice(first) : found.slice(first, first + MAX_LINES);
  useEffect(() => {
    if (follows) end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines.length, follows]);
  useEffect(() => {
    if (seq !== undefined) document.getElementById(`e${seq}`)?.scrollIntoView({ block: 'center' });
  }, [seq, lines.length > 0]);
  return (
    <section aria-labelledby="log">
      <div class="line">
        <h2 id="log">Log{story === undefined ? '' : ` of ${story}`}</h2>
        {story !== undefined && <a href={`#/run/${runId}`}>Show all stories</a>}
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search (/)"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={follows}
            onChange={({ currentTarget }) => setFollows(currentTarget.checked)}
          />{' '}
          Follow
        </label>
      </div>
      <div class="log" role="log" tabIndex={0} aria-label="Log of the run">
        {shown.length < found.length && (
          <p class="soft">{found.length - shown.length} other lines: search to find them.</p>
        )}
        {shown.map((line) => (
          <div key={line.id} id={line.isFirst ? `e${line.seq}` : undefined} class={line.seq === seq ? 'target' : ''}>
            <a href={`#/run/${runId}/event/${line.seq}`} title={`Link to event ${line.seq}`}>
              {formatElapsed(Math.max(0, Date.parse(line.at) - Date.parse(startedAt)))}
            </a>
            <b>{line.story}</b>
            <i>{line.label}</i>
            <span class={line.tone}>{line.text}</span>
          </div>
        ))}
        <div ref={end} />
      </div>
    </section>
  );
}

function toLines(events: readonly JournalEvent[], runId: string) {
  return events.flatMap((event) =>
    describeEvent(event, { runId }).map((line, index) => ({
      ...line,
      id: `${event.seq}.${index}`,
      isFirst: index === 0,
      seq: event.seq,
      at: event.at,
    })),
  );
}
