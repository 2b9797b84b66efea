import {
  MAX_URL,
  type PlannedFeedback,
  type PullChecks,
  type PullReview,
  type ReviewComment,
} from '../../../core/pulls/pull-review.ts';
import { commitToReview, openFeedback } from '../../../core/run/reviewed-story.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import type { PullBranch } from './plan-stack.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';

/** Planned feedback, and why other feedback is not used: a sentence each. */
export interface FeedbackPlan {
  given: PlannedFeedback[];
  unused: string[];
}

interface PlanRequest {
  run: Pick<RunState, 'stories' | 'tip'>;
  /** How often a story may be sent back by reviews and checks. */
  rounds: number;
}

interface Reviewed {
  /** The commits of the run that changed a path, newest first. */
  lastChanges: ReadonlyMap<string, readonly string[]>;
  /** The branch of the pull request. If it has a story, the reviews are about that. */
  branch?: PullBranch | undefined;
}

const MAX_TEXT = 6_000;
const MAX_COMMENTS = 40;
const MAX_COMMENT = 3_000;
const MAX_PATH = 4_096;
const MAX_CHECKS = 20;
const MAX_CHECK_TEXT = 1_500;

/**
 * Which stories reviews send back. A comment on a file is for the story whose commit changed the file last; the text of a
 * review goes to all of these stories and, without comments, to the story that it names or that landed last.
 */
export function planReviews(
  reviews: readonly PullReview[],
  { run, rounds, lastChanges, branch }: PlanRequest & Reviewed,
): FeedbackPlan & { outsiders: string[] } {
  const plan = { given: [] as PlannedFeedback[], unused: [] as string[], outsiders: [] as string[] };
  for (const review of reviews) {
    if (!review.mayPush) {
      plan.outsiders.push(
        `The review of ${review.author || 'a deleted account'} is not used: only people who may push to the project count.`,
      );
      continue;
    }
    const parts = divide(review, { run, lastChanges, branch });
    // Later commits change which story a file belongs to, and which one landed last.
    if (run.stories.filter((story) => isUsed(story, review.url)).length >= parts.length) continue;
    for (const { story, comments } of parts) {
      const { url, author, text, commit } = review;
      if (isUsed(story, url) || plan.given.some(({ storyId }) => storyId === story.id)) continue;
      const used = roundsOf(story);
      if (used >= rounds) {
        plan.unused.push(`The review of ${author} is not used: story ${story.id} was sent back ${used} times already.`);
        continue;
      }
      if (!takesFeedback(story)) {
        if (openFeedback(story) === undefined)
          plan.unused.push(`The review of ${author} is not used yet: story ${story.id} has no commit to change.`);
        continue;
      }
      plan.given.push({
        storyId: story.id,
        source: 'review',
        author,
        url,
        text: limited(safeText(text), MAX_TEXT),
        comments: comments
          .slice(0, MAX_COMMENTS)
          .map((each) => ({ ...each, text: limited(safeText(each.text), MAX_COMMENT) })),
        ...(commit !== undefined && { commit }),
        ...(branch?.story !== undefined && { base: branch.base }),
      });
    }
  }
  return plan;
}

/** The story that failing checks at the newest commit of a run send back: the one that landed last. */
export function planChecks(
  { failed, isRunning }: PullChecks,
  { run, rounds, page }: PlanRequest & { page: string },
): FeedbackPlan {
  const story = lastLanded(run);
  // One round has everything that fails.
  if (failed.length === 0 || isRunning || story === undefined) return { given: [], unused: [] };
  const url = `${page}#checks-${run.tip.slice(0, 12)}`;
  if (isUsed(story, url) || !takesFeedback(story)) return { given: [], unused: [] };
  const used = roundsOf(story);
  if (used >= rounds) {
    const names = failed.map(({ name }) => name).join(', ');
    return { given: [], unused: [`${names} failed, and story ${story.id} was sent back ${used} times already.`] };
  }
  const said = failed
    .slice(0, MAX_CHECKS)
    .map(({ name, url: at, text }) =>
      [`${name} failed. ${at}`.trim(), limited(text, MAX_CHECK_TEXT)].join('\n').trim(),
    );
  const text = limited(safeText(['These checks fail at the commit:', ...said].join('\n\n')), MAX_TEXT);
  return { given: [{ storyId: story.id, source: 'checks', author: 'checks', url, text, comments: [] }], unused: [] };
}

function divide(
  { text, comments }: PullReview,
  { run, lastChanges, branch }: { run: PlanRequest['run'] } & Reviewed,
): { story: StoryState; comments: ReviewComment[] }[] {
  const parts = new Map<StoryState, ReviewComment[]>();
  const usable = comments.filter(
    (each) => safeText(each.text).trim() !== '' && each.path !== '' && each.path.length <= MAX_PATH,
  );
  const ofBranch = run.stories.find(({ id }) => id === branch?.story);
  if (ofBranch !== undefined)
    return usable.length > 0 || text.trim() !== '' ? [{ story: ofBranch, comments: usable }] : [];
  for (const comment of usable) {
    const commits = lastChanges.get(comment.path) ?? [];
    const story = commits.map((commit) => storyOfCommit(run, commit)).find((found) => found !== undefined);
    const owner = story ?? lastLanded(run);
    if (owner !== undefined) parts.set(owner, [...(parts.get(owner) ?? []), comment]);
  }
  if (parts.size > 0 || text.trim() === '') return [...parts].map(([story, said]) => ({ story, comments: said }));
  const story = run.stories.find(({ id, commit }) => commit !== undefined && names(text, id)) ?? lastLanded(run);
  return story === undefined ? [] : [{ story, comments: [] }];
}

/** Whether a text is about a story. The id `add` is a word like any other, unless it is shown as code or as `halo/add`. */
function names(text: string, id: string): boolean {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span.trim());
  const words = text.split(/[\s,;:()`"']+/).map((word) => word.replace(/[.!?]+$/, ''));
  return [...spans, ...words].includes(`halo/${id}`) || spans.includes(id) || (/\d/.test(id) && words.includes(id));
}

/** Also if a later commit of the story has replaced that one after feedback. */
function storyOfCommit({ stories }: Pick<RunState, 'stories'>, commit: string): StoryState | undefined {
  return stories.find((story) => story.commit === commit || story.feedback?.some((each) => each.commit === commit));
}

function lastLanded({ stories, tip }: Pick<RunState, 'stories' | 'tip'>): StoryState | undefined {
  return stories.find(({ commit }) => commit === tip) ?? stories.findLast(({ commit }) => commit !== undefined);
}

function takesFeedback(story: StoryState): boolean {
  return commitToReview(story) !== undefined && openFeedback(story) === undefined;
}

function isUsed({ feedback = [] }: StoryState, url: string): boolean {
  return feedback.some((each) => each.url === safeLine(url, MAX_URL));
}

function roundsOf({ feedback = [] }: StoryState): number {
  return feedback.filter(({ source }) => source !== undefined).length;
}

function limited(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)} …`;
}
