import { failedNeeds, unmetNeeds } from '../run/run-dependencies.ts';
import {
  currentDecision,
  isDone,
  isSelected,
  isUndecided,
  omit,
  type RunState,
  type StoryState,
} from '../run/state.ts';

/** The status of a run, in one or two words. */
export function stateText(run: RunState & { heldBy?: string }): string {
  if (run.dry) return `${run.planning ? 'plan' : 'dry run'}: ${stateText(omit(run, 'dry'))}`;
  if (run.status === 'ended') return [run.stopReason ?? 'ended', ...afterwards(run)].join(', ');
  if (run.paused !== undefined) return run.stories.some(isUnderWay) ? 'pausing' : 'paused';
  if (failedNeeds(run).length > 0) return 'blocked';
  if (unmetNeeds(run).length > 0) return 'waiting';
  if (run.heldBy !== undefined) return `waiting: ${run.heldBy}`;
  return run.status === 'running' && !run.stories.some(hasAttempt) ? 'waiting' : run.status;
}

/** Number of stories that are done, and of all stories of the run. */
export function storyCount(run: RunState): string {
  const stories = run.stories.filter((story) => isSelected(story, run));
  return `${stories.filter(isDone).length}/${stories.length}`;
}

/** Decisions of people on the result of an ended run. */
function afterwards(run: RunState): string[] {
  if (run.landed !== undefined) return ['landed'];
  const verdict = currentDecision(run)?.verdict;
  if (verdict !== undefined) return [verdict];
  return isUndecided(run) ? ['waiting for approval'] : [];
}

function isUnderWay({ progress, phase, waiting }: StoryState): boolean {
  return progress === 'in_progress' && phase !== undefined && waiting === undefined;
}

function hasAttempt({ progress, waiting }: StoryState): boolean {
  return progress === 'in_progress' && waiting === undefined;
}
