import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { reviewRun, type StoryReview } from '../../core/review/review.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { readText, runPath, toRequestFailed, type Loaded } from '../page/read-server.ts';

/** What the journal of a run says about it and its stories. */
export interface RunReview {
  state: RunState;
  stories: StoryReview[];
  /** When the newest feedback on a story was given, in ISO 8601. */
  sentBackAt: Readonly<Record<string, string>>;
}

/** Reads the journal, and again when `run` has changed in a way that matters for a review. */
export function useRunReview(runId: string, run: ListedRun | undefined): Loaded<RunReview> {
  const [loaded, setLoaded] = useState<Loaded<RunReview>>({});
  const reading = useRef<string>();
  const value = loaded.value?.state.runId === runId ? loaded.value : undefined;
  const [wanted, current] = [run && versionOf(run), value && versionOf(value.state)];
  useEffect(() => {
    if (reading.current === runId || (current !== undefined && (wanted ?? current) === current)) return;
    reading.current = runId;
    const finish = (next: Loaded<RunReview>) => {
      if (reading.current !== runId) return;
      reading.current = undefined;
      setLoaded(next);
    };
    readJournal(runId).then(
      (read) => finish({ value: read }),
      (error: unknown) => finish({ problem: toRequestFailed(error) }),
    );
  }, [runId, wanted, current]);
  return { ...loaded, ...(value === undefined && { value: undefined }) } as Loaded<RunReview>;
}

async function readJournal(runId: string): Promise<RunReview> {
  const text = await readText(runPath(runId, '/events'));
  const frames = text.split('\n').filter((line) => line !== '');
  const events = frames.flatMap((line) => (JSON.parse(line) as { event?: JournalEvent }).event ?? []);
  const review = reviewRun(events);
  if (review === undefined) throw new Error('The journal of this run cannot be read.');
  const given = events.flatMap((event) => (event.type === 'feedback.given' ? [[event.story, event.at] as const] : []));
  return { ...review, sentBackAt: Object.fromEntries(given) };
}

/** Changes with each commit and decision. */
function versionOf({ status, tip, decision, landed, pull, stories }: RunState): string {
  const parts = stories.map(({ id, progress, attempts, held, commit }) => [
    id,
    progress,
    attempts,
    held?.commit,
    commit,
  ]);
  return JSON.stringify([status, tip, decision?.verdict, landed?.to, pull?.number, parts]);
}

/** The commit whose diff is reviewed; for a whole run, its latest one. */
export function reviewedCommit(state: RunState, story: StoryState | undefined): string | undefined {
  return story === undefined ? state.tip : (story.held?.commit ?? story.approved?.commit ?? story.commit);
}
