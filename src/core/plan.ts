import type { RunState, StoryState } from './run-state.ts';
import type { StopReason } from './stop-reason.ts';

/** What a run does next. */
export type Plan =
  { kind: 'attempt'; story: StoryState; attempt: number } | { kind: 'end'; stopReason: StopReason; detail: string };

/** Decides what runs next: stories of one run go in order, each on its predecessor's commit. */
export function planNext(state: RunState): Plan {
  for (const story of state.stories) {
    switch (story.progress) {
      case 'pending':
        return { kind: 'attempt', story, attempt: story.attempts + 1 };
      case 'in_progress':
        // It never ended: a worker died or handed it back, which costs no attempt.
        return { kind: 'attempt', story, attempt: story.attempts };
      case 'failed':
        if (story.stopReason === 'APPROVAL_DENIED') {
          return { kind: 'end', stopReason: 'APPROVAL_DENIED', detail: `${story.id}: ${story.summary ?? ''}` };
        }
        if (story.attempts < state.maxAttempts) return { kind: 'attempt', story, attempt: story.attempts + 1 };
        return { kind: 'end', ...endAfterFailure(story) };
      case 'needs_human':
        return { kind: 'end', stopReason: 'NEEDS_HUMAN', detail: `${story.id}: ${story.summary ?? ''}` };
      case 'passed':
      case 'done':
      case 'skipped':
        break;
    }
  }
  return { kind: 'end', ...endAfterAll(state.stories) };
}

/** The end of a run whose story failed for good: several attempts have a reason of their own. */
function endAfterFailure(story: StoryState): { stopReason: StopReason; detail: string } {
  const last = story.stopReason ?? 'UNKNOWN_ERROR';
  const detail = `${story.id}: ${story.summary ?? ''}`;
  if (story.attempts === 1) return { stopReason: last, detail };
  return { stopReason: 'ATTEMPTS_EXHAUSTED', detail: `${detail} (${last}, ${story.attempts} attempts)` };
}

function endAfterAll(stories: StoryState[]): { stopReason: StopReason; detail: string } {
  const landed = stories.filter((story) => story.progress === 'passed').length;
  if (landed > 0) return { stopReason: 'SUCCESS', detail: `${landed} of ${stories.length} stories landed` };
  const done = stories.filter((story) => story.progress === 'done').length;
  if (done > 0 && done === stories.length) return { stopReason: 'SUCCESS', detail: 'every story was done already' };
  return { stopReason: 'NOTHING_RUNNABLE', detail: 'no story of the PRD is open' };
}
