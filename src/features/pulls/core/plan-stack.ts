import type { JournalEvent } from '../../../core/journal/events.ts';
import { applyEvent } from '../../../core/journal/fold-run.ts';
import { isDone, isSelected, type RunState, type StoryState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { PullState } from '../../../core/pulls/pull-state.ts';
import { code, introduce, planPull, statusOf, storySection, toPlannedPull } from './plan-pull.ts';
import type { PlannedPull, PullFacts } from './plan-pull.ts';

/** Each change of a run asks the forge for each open pull request of its stack. */
export const MAX_OPEN = 100;

/** A branch of a run that has a pull request. */
export interface PullBranch {
  name: string;
  /** The commits that have been its head, oldest first. */
  commits: string[];
  /** The commit that it starts from. */
  base: string;
  /** The id of its story; absent: all stories. */
  story?: string;
  /** Further work on a story that has a branch further down. */
  isFollowUp?: true;
}

/** What a person needs to find a pull request. */
interface PullLink {
  number: number;
  url: string;
}

/**
 * The branches of a run, in the order in which they are to be merged: one for all of it or, with `story`, one for each
 * story, each on top of the one before. A further commit of a story extends its branch if that is the top of the stack and
 * its pull request is open, and is a branch of its own otherwise: a branch below is never changed. So is one that landed
 * before halo knew that the pull request was over.
 */
export function planBranches(
  events: readonly JournalEvent[],
  run: Pick<RunState, 'runId' | 'tip' | 'repo'>,
  mode: 'run' | 'story',
): PullBranch[] {
  const { runId, repo, tip } = run;
  const stack: PullBranch[] = [];
  const add = (story: Pick<StoryState, 'id' | 'key'>, from: Pick<PullBranch, 'commits' | 'base'>) =>
    stack.push({
      name: `halo-pr/${runId}/${stack.length + 1}-${story.key}`,
      ...from,
      story: story.id,
      ...(stack.some((each) => each.story === story.id) && { isFollowUp: true }),
    });
  let state: RunState | undefined;
  for (const event of events) {
    const before: RunState | undefined = state;
    state = applyEvent(state, event);
    if (event.type === 'pull.closed') {
      const later = takeLater(stack, event, state);
      const story = state?.stories.find(({ id }) => id === stack.at(-1)?.story);
      if (later !== undefined && story !== undefined) add(story, later);
    }
    if (before === undefined || state === undefined || state.tip === before.tip || !('story' in event)) continue;
    const story = state.stories.find(({ id }) => id === event.story);
    if (story === undefined) continue;
    const top = stack.at(-1);
    const isEnded = state.pulls?.some(({ branch, ended }) => branch === top?.name && ended !== undefined) === true;
    if (top?.story === story.id && !isEnded) top.commits.push(state.tip);
    else add(story, { commits: [state.tip], base: before.tip });
  }
  if (mode === 'story') return stack;
  const commits = stack.flatMap((each) => each.commits);
  return [{ name: `halo/${runId}`, commits: commits.at(-1) === tip ? commits : [...commits, tip], base: repo.base }];
}

/** Takes the commits from the top of the stack that its pull request did not have when it was closed. */
function takeLater(
  stack: readonly PullBranch[],
  { number, head }: JournalEvent & { type: 'pull.closed' },
  state: RunState | undefined,
): Pick<PullBranch, 'commits' | 'base'> | undefined {
  const top = stack.at(-1);
  const isOfTop = state?.pulls?.some((each) => each.number === number && each.branch === top?.name) === true;
  if (top === undefined || head === undefined || !isOfTop || !top.commits.includes(head)) return undefined;
  const commits = top.commits.splice(top.commits.indexOf(head) + 1);
  return commits.length === 0 ? undefined : { commits, base: head };
}

/** The part of a stack that has pull requests: until some are merged or closed, not more than MAX_OPEN are opened. */
export function limitStack(branches: readonly PullBranch[], { pulls = [] }: PullState): PullBranch[] {
  const isEnded = ({ name }: PullBranch) => pulls.some(({ branch, ended }) => branch === name && ended !== undefined);
  const firstLeft = branches.filter((each) => !isEnded(each))[MAX_OPEN];
  return branches.slice(0, firstLeft === undefined ? branches.length : branches.indexOf(firstLeft));
}

/**
 * The pull request of a branch. `links`: those of all branches, as far as they exist. That of a story is ready when the
 * story and all stories below it are done.
 */
export function planBranchPull(
  run: RunState,
  facts: PullFacts,
  { branches, nth, links }: { branches: readonly PullBranch[]; nth: number; links: readonly (PullLink | undefined)[] },
): PlannedPull {
  const branch = branches[nth];
  const story = run.stories.find(({ id }) => id === branch?.story);
  if (branch === undefined || story === undefined) return planPull(run, facts);
  const total = Math.max(
    branches.length,
    run.status === 'ended' ? 0 : run.stories.filter((each) => isSelected(each, run)).length,
  );
  const isWaiting = branches
    .slice(0, nth + 1)
    .some(({ story: id }) => run.stories.some((each) => each.id === id && !isDone(each)));
  const commit = branch.commits.at(-1) ?? branch.base;
  const isNewest = story.commit === commit;
  const named = (index: number) => linkTo(links[index]);
  const [below, above] = [named(nth - 1), named(nth + 1)];
  const place = [
    `Pull request ${nth + 1} of ${total}`,
    ...(below === '' ? [] : [`after ${below}`]),
    ...(above === '' ? [] : [`before ${above}`]),
  ];
  const others = branches.flatMap((each, index) =>
    each.story === story.id && index !== nth ? [{ index, link: named(index) }] : [],
  );
  const [original] = others;
  const later = others.filter(({ index, link }) => index > nth && link !== '').map(({ link }) => link);
  const sections = [
    `Story ${code(story.id)} of ${introduce(run)} ${place.join(', ')}. ${isWaiting ? 'It is a draft until its story and those below it are done.' : ''}`.trim(),
    ...(branch.isFollowUp && original !== undefined && original.link !== ''
      ? [`It continues the story of ${original.link} after feedback.`]
      : []),
    ...(later.length === 0 ? [] : [`Later feedback on this story is answered in ${later.join(', ')}.`]),
    storySection({ ...story, commit }, isNewest ? facts : { ...facts, proofs: new Map() }),
  ];
  const what = `${safeLine(story.id, 60)}${branch.isFollowUp ? ' (follow-up)' : ''}: ${safeLine(story.title, 100)}`;
  return toPlannedPull(run, {
    title: `${what} (${nth + 1} of ${total}, halo ${run.runId})`,
    sections,
    isDraft: isWaiting,
    statuses: [statusOf(story)],
  });
}

/** Empty without a pull request. Only a plain address becomes a link. */
function linkTo(pull: PullLink | undefined): string {
  if (pull === undefined) return '';
  return /^https?:\/\/[\w.:/%~-]+$/.test(pull.url) ? `[#${pull.number}](${pull.url})` : `#${pull.number}`;
}
