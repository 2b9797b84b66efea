import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { isQuestion } from '../../core/run/questions.ts';
import type { StoryState } from '../../core/run/state.ts';
import { storyCount } from '../run-text.ts';
import { awaitsDecision } from './actions.ts';

interface InboxItem {
  what: string;
  story?: StoryState;
  text: string;
}

/**
 * What of a run waits for a decision of a person; `?`: the run cannot continue without it. Questions of a task cannot be
 * answered, and those of stories that another one of `runs` has done since need no answer.
 */
export function inboxItems(run: ListedRun, runs: readonly ListedRun[]): InboxItem[] {
  const items = run.stories.flatMap((story): InboxItem[] => {
    const text = story.summary ?? story.title;
    if (story.held !== undefined) return [{ what: '? approval', story, text }];
    const isOpen = isQuestion(story) && run.task !== true && !isDoneSince(story, run, runs);
    return isOpen ? [{ what: '? answer', story, text }] : [];
  });
  if (awaitsDecision(run)) items.push({ what: '? approval', text: 'the result of the run' });
  if (run.breaker !== undefined && run.status !== 'ended') items.push({ what: '! breaker', text: run.breaker });
  const isLandable =
    run.stopReason === 'SUCCESS' && run.tip !== run.repo.base && run.landed === undefined && run.scratch !== true;
  if (isLandable && items.length === 0 && run.decision?.verdict !== 'rejected')
    items.push({ what: '+ land', text: `${storyCount(run)} stories, not on your branch yet` });
  return items;
}

/** Whether a newer run of the same PRD has done a story of `run`. */
function isDoneSince({ id }: StoryState, run: ListedRun, runs: readonly ListedRun[]): boolean {
  return runs.some(
    ({ repo, prdPath, createdAt, stories }) =>
      createdAt > run.createdAt &&
      repo.source === run.repo.source &&
      prdPath === run.prdPath &&
      stories.some((story) => story.id === id && (story.progress === 'passed' || story.progress === 'done')),
  );
}
