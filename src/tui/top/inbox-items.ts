import type { BreakerView } from '../../api/operations/requests.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { flagsOf, landingStories } from '../../core/review/flags.ts';
import { isQuestion, questionLines } from '../../core/run/questions.ts';
import type { StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { storyCount } from '../run-text.ts';
import { awaitsDecision } from './actions.ts';
import type { Row } from './table-lines.ts';

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
    const more = questionLines(story).join('  ');
    return isOpen ? [{ what: '? answer', story, text: more === '' ? text : `${text}  ${more}` }] : [];
  });
  if (awaitsDecision(run)) items.push({ what: '? approval', text: 'the result of the run' });
  // A run that its breaker ended continues after a reset, unless a newer run has done its stories.
  const isOpen = ({ progress }: StoryState) => !['passed', 'done', 'skipped', 'cancelled'].includes(progress);
  const isBlocked =
    run.status !== 'ended' || run.stories.some((story) => isOpen(story) && !isDoneSince(story, run, runs));
  if (run.breaker !== undefined && isBlocked) items.push({ what: '! breaker', text: run.breaker });
  const isLandable =
    run.stopReason === 'SUCCESS' && run.tip !== run.repo.base && run.landed === undefined && run.scratch !== true;
  const isOnForge = run.pull !== undefined && run.pull.ended !== 'closed';
  if (isLandable && !isOnForge && items.length === 0 && run.decision?.verdict !== 'rejected')
    items.push({ what: '+ land', text: `${storyCount(run)} stories, not on your branch yet${describeFlags(run)}` });
  return items;
}

/** What a person has to confirm. */
function describeFlags(run: ListedRun): string {
  const flags = flagsOf(landingStories(run));
  return flags.length === 0 ? '' : `; flagged: ${flags.join(', ')}`;
}

/** The row of a breaker of a repository or a provider. */
export function breakerRow({ key, status, reason, until }: BreakerView): Row {
  const then = until === null ? '' : `; one story may try from ${until.slice(11, 16)} UTC`;
  return {
    id: `breaker ${key}`,
    breaker: key,
    cells: [
      { text: '! breaker', tone: 'warn' },
      ...['-', '-', '-', '-'].map((text) => ({ text })),
      { text: safeLine(`${breakerName(key)} is ${status}: ${reason}${then}`) },
    ],
  };
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
