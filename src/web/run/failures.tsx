import { commandEnd } from '../../core/transcript/excerpt.ts';
import type { JSX } from 'preact';
import { STOP_REASONS } from '../../core/failure/stop-reason.ts';
import { canRetry } from '../../core/run/actions.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { ClockTime } from '../page/clock-time.tsx';
import { ActionButton, mayDo, type Person } from '../page/page-parts.tsx';
import { runPath, storyAddress } from '../page/read-server.ts';
import { FailedCommand } from './failed-command.tsx';
import type { AttemptRecord } from '../../core/journal/attempts.ts';
import { commandsOf, type RunJournal, type ShownCommand } from './run-journal.ts';
import { attemptWords } from '../../view/attempt-words.ts';
import { attemptText } from '../../view/story-words.ts';

interface FailuresProps {
  journal: RunJournal;
  run: RunState;
  person: Person;
}

const MAX_OPEN = 3;

/** Why stories failed: the command, its output, and when. */
export function StoryFailures({ journal, run, person }: FailuresProps): JSX.Element | null {
  const failed = run.stories.flatMap((story) => {
    const last = journal.attemptsOf(story.id).findLast(({ end }) => end !== undefined);
    return isFailed(story, run) && last?.end !== undefined && last.end.verdict !== 'passed' ? [{ story, last }] : [];
  });
  if (failed.length === 0) return null;
  return (
    <section class="failures" aria-label="Failures">
      {failed.map(({ story, last }, index) => (
        <details key={story.id} class="failure" open={index < MAX_OPEN}>
          <summary>
            <b class="bad" aria-hidden="true">
              ✗
            </b>
            <b>{safeLine(story.id)}</b>
            <span class="failure-title">{safeLine(story.title)}</span>
            <span class="bad" title={meaningOf(last)}>
              {attemptWords(last, false).text}
            </span>
            {last.end !== undefined && (
              <span class="soft">
                failed at <ClockTime at={last.end.at} />, {attemptText(story, run, last.attempt)}
              </span>
            )}
          </summary>
          <FailureDetails attempt={last} />
          <div class="actions">
            <a class="button" href={storyAddress(run.runId, story.id, last.attempt)}>
              Open attempt {last.attempt}
            </a>
            <LogLink attempt={last} runId={run.runId} />
            {run.status === 'ended' && canRetry(run, story.id) === true && mayDo(person, 'control', run.user) && (
              <ActionButton
                label="Retry the story"
                doing="Retrying"
                path={runPath(run.runId, '/retry')}
                body={{ story: story.id }}
              />
            )}
          </div>
        </details>
      ))}
    </section>
  );
}

/** The reason for the end of an attempt, with the command that failed. */
export function FailureDetails({ attempt }: { attempt: AttemptRecord }): JSX.Element {
  const command = failedCommandOf(attempt);
  const { stopReason, cause, summary = '' } = attempt.end ?? {};
  // Otherwise the summary only repeats the command and its exit code.
  const saysMore = command === undefined || stopReason !== 'GATE_FAILED' || cause !== undefined;
  const { reply } = attempt;
  return (
    <>
      {reply?.reason !== undefined && <p class="said">Reason: {safeText(reply.reason)}</p>}
      {saysMore && <p class="said">{safeText(summary)}</p>}
      {command !== undefined && <FailedCommand command={command} />}
    </>
  );
}

/** What the stop reason means in general. */
function meaningOf({ end }: AttemptRecord): string | undefined {
  return end?.stopReason && STOP_REASONS[end.stopReason].meaning;
}

function LogLink({ attempt, runId }: { attempt: AttemptRecord; runId: string }) {
  const command = failedCommandOf(attempt);
  if (command === undefined) return null;
  const to = `${storyAddress(runId, attempt.story, attempt.attempt)}/log/${encodeURIComponent(command.log)}`;
  return (
    <a class="button" href={to}>
      Whole log
    </a>
  );
}

/** The last command of an attempt, if it failed. */
function failedCommandOf(attempt: AttemptRecord): ShownCommand | undefined {
  const last = commandsOf(attempt).findLast(({ at }) => at !== undefined);
  return last !== undefined && commandEnd(last).tone === 'bad' ? last : undefined;
}

function isFailed({ progress, waiting }: StoryState, { status }: RunState): boolean {
  return progress === 'failed' || waiting?.class !== undefined || (progress === 'in_progress' && status === 'ended');
}
