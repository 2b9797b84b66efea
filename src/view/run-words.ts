import type { WorkerView } from '../api/operations/schemas.ts';
import type { ListedRun } from '../api/runs/limited-runs.ts';
import { reasonWords } from '../core/failure/plain-reason.ts';
import { failedNeeds, unmetNeeds } from '../core/run/run-dependencies.ts';
import { lacksEngine, stateWords } from '../core/listing/run-facts.ts';
import { currentDecision, decisiveStory, workedMs, isDone, isSelected, type RunState } from '../core/run/state.ts';
import { formatElapsed } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Tone } from '../core/transcript/transcript-line.ts';
import { failureWords, isWorking, type Words } from './story-words.ts';

export function timeText(run: RunState, now: string): string {
  const ms = workedMs(run, now);
  return ms === undefined ? '-' : formatElapsed(ms);
}

/**
 * The state of a run in words, on every surface: of a failed one with its reason. The stop reason is in details and JSON.
 * `short`: for places without room.
 */
export function runWords(run: ListedRun): Words & { short: string } {
  const words = stateWords(run, `failed: ${whyItFailed(run)}`);
  const [first = '', ...rest] = words;
  const text = run.dry ? `${first}: ${rest.join(', ')}` : words.join(', ');
  return {
    mark: markOf(run),
    tone: toneOf(run),
    short: stateWords(run)[0] ?? '',
    text: isHeld(run) ? `${text}: ${run.heldBy ?? 'no engine'}` : text,
  };
}

/** The reason of the story that explains the end, which says more than that all attempts are used up. */
function whyItFailed(run: RunState): string {
  const { stopReason = 'UNKNOWN_ERROR' } = run;
  const story = decisiveStory(run);
  const isWhole = stopReason === 'CIRCUIT_OPEN' || story?.stopReason === undefined || story.progress !== 'failed';
  return isWhole ? reasonWords(stopReason) : failureWords(story);
}

/** Whether it waits only for a limit of the fleet, or for an engine. */
function isHeld(run: ListedRun): boolean {
  const { heldBy, status, paused } = run;
  return (
    (heldBy !== undefined || lacksEngine(run)) &&
    status !== 'ended' &&
    paused === undefined &&
    unmetNeeds(run).length === 0
  );
}

function toneOf(run: RunState): Tone {
  if (run.status !== 'ended') return run.paused !== undefined || failedNeeds(run).length > 0 ? 'warn' : 'plain';
  if (currentDecision(run)?.verdict === 'rejected') return 'bad';
  if (run.stopReason === 'SUCCESS') return 'good';
  if (run.stopReason === 'USER_ABORT') return 'quiet';
  return run.stopReason === 'NEEDS_HUMAN' ? 'warn' : 'bad';
}

function markOf(run: RunState): string {
  if (run.status === 'ended') {
    if (currentDecision(run)?.verdict === 'rejected') return '✗';
    if (run.stopReason === 'SUCCESS') return '✓';
    return run.stopReason === 'NEEDS_HUMAN' ? '?' : run.stopReason === 'USER_ABORT' ? '-' : '✗';
  }
  if (run.paused !== undefined) return '‖';
  return run.stories.some((story) => isWorking(story, run)) ? '»' : '·';
}

/** Number of stories that are done, and of all stories of the run. */
export function storyCount(run: RunState): string {
  const stories = run.stories.filter((story) => isSelected(story, run));
  return `${stories.filter(isDone).length}/${stories.length}`;
}

/** The name of the project of a run, else the last part of its repository. */
export function projectName({ project, repo }: Pick<RunState, 'project' | 'repo'>): string {
  const folder = repo.source.replace(/(?:\.git)?\/*$/, '').split('/');
  return safeLine(project === '' ? (folder.at(-1) ?? '') : project, 60);
}

/** Why a worker takes no stories; undefined if it takes them. */
export function closedText({
  draining,
  away,
  busy,
}: Pick<WorkerView, 'busy' | 'draining' | 'away'>): string | undefined {
  if (draining) return drainText({ busy });
  return away === true ? 'its engine does not answer, or lacks an image' : undefined;
}

/** What is left of a draining worker. */
export function drainText({ busy }: Pick<WorkerView, 'busy'>): string {
  if (busy === undefined || busy === 0) return 'drained';
  return `drains, ${busy} ${busy === 1 ? 'story' : 'stories'} left`;
}
