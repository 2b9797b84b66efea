import { describeUnmetDependencies, type RunState, type StoryState } from '../../../core/run/state.ts';
import { formatClock } from '../../page/clock-time.tsx';

const MARKS: Record<StoryState['progress'], { mark: string; tone: string; text: string }> = {
  pending: { mark: '○', tone: 'soft', text: 'pending' },
  in_progress: { mark: '●', tone: 'mark', text: 'running' },
  passed: { mark: '✓', tone: 'good', text: 'passed' },
  failed: { mark: '✗', tone: 'bad', text: 'failed' },
  needs_human: { mark: '?', tone: 'warn', text: 'needs you' },
  done: { mark: '✓', tone: 'good', text: 'done before' },
  skipped: { mark: '–', tone: 'soft', text: 'skipped' },
  cancelled: { mark: '–', tone: 'soft', text: 'cancelled' },
};

/** A sign, a tone and a few words for the state of a story, so that none needs color. */
export function storyWords(story: StoryState, run: RunState): { mark: string; tone: string; text: string } {
  const words = MARKS[story.progress];
  if (story.waiting !== undefined && run.status !== 'ended')
    return { mark: '◔', tone: 'warn', text: `waits until ${formatClock(story.waiting.notBefore)}` };
  if (story.progress === 'in_progress')
    return run.status === 'ended'
      ? { mark: '–', tone: 'warn', text: 'interrupted' }
      : { ...words, text: story.phase ?? 'starting' };
  if (story.progress === 'pending') return { ...words, text: describeUnmetDependencies(story, run) ?? words.text };
  if (story.held !== undefined) return { ...words, text: 'waits for approval' };
  return words;
}

/** The address of a story, or of an attempt at it. */
export function storyAddress(runId: string, story: string, attempt?: number): string {
  return `#/run/${runId}/story/${encodeURIComponent(story)}${attempt === undefined ? '' : `/attempt/${attempt}`}`;
}
