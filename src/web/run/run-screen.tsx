import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RunView } from '../../api/operations/runs.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { EmptyState, Problem, type Person } from '../page/page-parts.tsx';
import { openEvents } from '../page/read-events.ts';
import { readJson, runPath, useLoaded, type RequestFailed } from '../page/read-server.ts';
import { StoryScreen } from './attempt/story-screen.tsx';
import { StoryFailures } from './failures.tsx';
import { JournalLog } from './log/journal-log.tsx';
import { RunHeader } from './run-header.tsx';
import { RunJournal } from './run-journal.ts';
import { StoryOverview } from './stories/story-graph.tsx';
import { Waterfall } from './waterfall.tsx';

interface RunScreenProps {
  runId: string;
  /** What follows the run in the address: an event, or a story with an attempt. */
  place: readonly string[];
  /** The newest `seq` of the run that the list of runs knows; 0 if it does not have the run. */
  latest: number;
  now: string;
  person: Person;
  onConnection: (isOpen: boolean) => void;
}

/** One run, or one of its stories, computed from the events of its journal. */
export function RunScreen({ runId, place, latest, now, person, onConnection }: RunScreenProps): JSX.Element {
  const { journal, version, problem } = useJournal(runId, latest, onConnection);
  const { state } = journal;
  const view = useView(runId, state);
  if (problem?.status === 404)
    return (
      <EmptyState title={`There is no run ${safeLine(runId, 80)}.`}>
        {problem.hint} <a href="#/">Now</a> lists the open and the newest runs.
      </EmptyState>
    );
  if (problem !== undefined) return <Problem problem={problem} />;
  if (state === undefined) return <EmptyState title="Reading the journal …" />;
  if (place[0] === 'story')
    return <StoryScreen {...{ journal, version, run: state, view, place, now, person }} key={place[1]} />;
  const isOpen = state.status !== 'ended';
  return (
    <>
      <RunHeader run={state} view={view} now={now} person={person} />
      <StoryFailures journal={journal} run={state} person={person} />
      <StoryOverview run={state} now={now} />
      <section aria-labelledby="attempts">
        <h2 id="attempts">Attempts</h2>
        <Waterfall
          runId={runId}
          stories={state.stories}
          attempts={[...journal.attempts.values()]}
          now={now}
          isOpen={isOpen}
        />
      </section>
      <section aria-labelledby="log">
        <h2 id="log">Log</h2>
        <JournalLog
          {...{ journal, version, runId }}
          seq={place[0] === 'event' ? Number(place[1]) : undefined}
          label="Log of the run"
        />
      </section>
    </>
  );
}

/**
 * Follows the journal of a run. The stream ends with the run, which may continue later: `latest` is the newest `seq` that
 * the list of runs knows.
 */
function useJournal(runId: string, latest: number, onConnection: (isOpen: boolean) => void) {
  const [followed, setFollowed] = useState(() => ({ journal: new RunJournal(), version: 0 }));
  const [problem, setProblem] = useState<RequestFailed>();
  const [after, setAfter] = useState(0);
  const { journal: current, version } = followed;
  useEffect(() => {
    if (current.state?.status === 'ended' && latest > version) setAfter(version);
  }, [latest, version]);
  useEffect(() => {
    // It grows in place: a journal may have a million lines.
    const journal = after === 0 ? new RunJournal() : current;
    if (after === 0) setFollowed({ journal, version: 0 });
    setProblem(undefined);
    const close = openEvents<{ event: JournalEvent }>(runPath(runId, `/events?follow=true&after=${after}`), {
      onConnection,
      onProblem: setProblem,
      onFrames: (frames) => {
        journal.add(frames.map(({ event }) => event));
        setFollowed({ journal, version: journal.state?.seq ?? 0 });
      },
    });
    return () => {
      close();
      // A lost connection of this page says nothing about the next one.
      onConnection(true);
    };
  }, [runId, after]);
  return { ...followed, problem };
}

/** What the journal does not say: the folders of stories, and what the run waits for. Loaded again after steps of the run. */
function useView(runId: string, state: RunJournal['state']): RunView | undefined {
  const key = `${runId} ${state?.status} ${state?.paused?.at} ${state?.stories.map(({ progress }) => progress).join()}`;
  const [view, setView] = useState<RunView>();
  const { value } = useLoaded(key, () => readJson<RunView>(runPath(runId)));
  useEffect(() => {
    if (value !== undefined) setView(value);
  }, [value]);
  return view?.state.runId === runId ? view : undefined;
}
