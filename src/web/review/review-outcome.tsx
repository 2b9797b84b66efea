import type { JSX } from 'preact';
import type { Feedback } from '../../core/review/feedback.ts';
import { PROGRESS } from '../../core/run/progress.ts';
import { isQuestion } from '../../core/run/questions.ts';
import { isUnchanged, needsPerson, type RunState, type StoryState } from '../../core/run/state.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { storyToShow } from '../../view/facts.ts';
import { ClockTime } from '../page/clock-time.tsx';
import { EmptyState } from '../page/page-parts.tsx';
import { storyAddress } from '../page/read-server.ts';

/** Why a run or story has nothing to review; undefined: its diff can be read. */
export function describeNothing(state: RunState, story: StoryState | undefined): string | undefined {
  if (story === undefined) return state.tip === state.repo.base ? 'No story of this run has passed.' : undefined;
  const { id, progress, attempts, commit, held, approved } = story;
  if ((commit ?? held ?? approved) !== undefined) return undefined;
  if (isUnchanged(story)) return `${id} passed without a change: the repository already fulfilled it.`;
  if (isRejected(story)) return `The change is among the files of attempt ${attempts}.`;
  if (progress === 'done') return `${id} was done before this run.`;
  if (progress === 'in_progress') return `Attempt ${attempts} at ${id} is running. Its change appears here.`;
  return attempts === 0 ? `${id} has not started.` : undefined;
}

function isRejected({ progress, stopReason }: StoryState): boolean {
  return progress === 'failed' && stopReason === 'APPROVAL_DENIED';
}

/** Says that a run or story has failed or waits for a person, before anything else of its review. */
export function OutcomeNotice({
  state,
  story,
}: {
  state: RunState;
  story: StoryState | undefined;
}): JSX.Element | null {
  const outcome = story === undefined ? outcomeOfRun(state) : outcomeOfStory(story);
  if (outcome === undefined) return null;
  const failed = story ?? storyToShow(state);
  return (
    <div class={`notice ${outcome.tone}`}>
      <strong>{safeText(outcome.title)}</strong>
      {outcome.text !== undefined && <p>{safeText(outcome.text)}</p>}
      {failed !== undefined && outcome.tone === 'bad' && failed.attempts > 0 && (
        <p>
          <a href={`${storyAddress(state.runId, failed.id, failed.attempts)}/diff`}>
            Diff of attempt {failed.attempts} at {safeText(failed.id)}
          </a>
        </p>
      )}
    </div>
  );
}

interface Outcome {
  tone: 'bad' | '';
  title: string;
  text?: string | undefined;
}

function outcomeOfRun({ status, stopReason = 'UNKNOWN_ERROR', detail }: RunState): Outcome | undefined {
  if (status !== 'ended' || stopReason === 'SUCCESS') return undefined;
  if (stopReason === 'NEEDS_HUMAN') return { tone: '', title: 'The run waits for a person.', text: detail };
  return { tone: 'bad', title: `The run ended with ${stopReason}.`, text: detail };
}

function outcomeOfStory(story: StoryState): Outcome | undefined {
  const { id, progress, commit, attempts, stopReason, summary, held } = story;
  const stays = commit === undefined ? 'It has no commit yet.' : 'Its earlier commit stays on the branch of the run.';
  const text = summary === undefined ? stays : `${summary}\n${stays}`;
  if (isRejected(story)) return { tone: 'bad', title: `${id} was rejected.`, text };
  if (progress === 'failed')
    return {
      tone: 'bad',
      title: `Attempt ${attempts} at ${id} failed${stopReason ? ` with ${stopReason}` : ''}.`,
      text,
    };
  if (progress === 'cancelled') return { tone: '', title: `${id} was cancelled.`, text: stays };
  if (isQuestion(story)) return { tone: '', title: `${id} waits for an answer.`, text };
  if (needsPerson(story) && held === undefined) return { tone: '', title: `${id} ${PROGRESS[progress].says}.`, text };
  return undefined;
}

interface SentBackProps {
  /** What was sent; undefined until the server has reported it. */
  feedback: Feedback | undefined;
  /** ISO 8601 */
  at: string | undefined;
  isRunning: boolean;
}

/** A story that works on feedback: it has no commit to decide on. */
export function SentBack({ feedback, at, isRunning }: SentBackProps): JSX.Element {
  return (
    <div role="status">
      <EmptyState
        title={
          isRunning ? 'Sent back; the next attempt is running.' : 'Sent back; the next attempt waits for a worker.'
        }
      >
        {feedback !== undefined && (
          <>
            With {describeFeedback(feedback)} by {safeText(feedback.author ?? feedback.by)}
            {at !== undefined && (
              <>
                {' '}
                at <ClockTime at={at} />
              </>
            )}
            , about attempt {feedback.attempt}. The new commit appears here when it waits for you.
          </>
        )}
      </EmptyState>
    </div>
  );
}

function describeFeedback({ comments, text }: Pick<Feedback, 'comments' | 'text'>): string {
  const parts = [
    ...(comments.length === 0 ? [] : [comments.length === 1 ? '1 comment' : `${comments.length} comments`]),
    ...(text === '' ? [] : ['a message']),
  ];
  return parts.join(' and ');
}
