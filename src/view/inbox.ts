import type { Access } from '../core/access/access.ts';
import { isIn } from '../core/run/progress.ts';
import type { BreakerView } from '../api/operations/schemas.ts';
import { outageText, type EngineOutage } from '../core/engine/engine-outage.ts';
import type { ListedRun } from '../api/runs/limited-runs.ts';
import { flagsOf, landingChanges } from '../core/review/flags.ts';
import { canLand } from '../core/run/actions.ts';
import { nextSteps, type NextStep } from '../core/run/next-steps.ts';
import { questionLines } from '../core/run/questions.ts';
import { awaitedOf, awaitsDecision, isDone, type StoryState } from '../core/run/state.ts';
import { printableShellWord } from '../core/text/safe-text.ts';
import { storyCount } from './run-words.ts';

/** What a person may do about an item; `decide`: approve or reject; `retry`: the story of the item, or else the run. */
export type InboxAction = 'answer' | 'decide' | 'land' | 'reset' | 'retry';

interface KindRow {
  /** What the inbox lists, in the plural. */
  lists: string;
  /** `?`: the run cannot continue without a person; `!`: something has stopped it; `+`: a result, which blocks nothing. */
  sign: '?' | '!' | '+';
  /** The others are absent for what a person does outside of halo. */
  action?: InboxAction;
  /** The button of the action, and what it shows while it acts. */
  button?: string;
  doing?: string;
  /** Who may do it. */
  access?: Extract<Access, 'control' | 'operate'>;
  /** How a person begins. */
  step?: (item: InboxItem, run: ListedRun) => Omit<NextStep, 'why'>;
  /** What else a person may do. */
  further?: readonly NextStep['do'][];
}

/** What a person decides, as all surfaces show it. `inboxItems` says when. */
export const INBOX = {
  answer: {
    lists: 'questions of stories',
    ...{ sign: '?', action: 'answer', button: 'Send the answer', doing: 'Sending', access: 'control' },
    step: (item, run) => ({ do: 'answer', ...placeOf(item, run) }),
  },
  approval: {
    lists: 'commits and results to approve',
    ...{ sign: '?', action: 'decide', button: 'Approve', doing: 'Approving', access: 'operate' },
    step: (item, run) => ({ do: 'diff', ...placeOf(item, run) }),
    further: ['approve', 'reject'],
  },
  breaker: {
    lists: 'open circuit breakers',
    ...{ sign: '!', action: 'reset', button: 'Reset', doing: 'Resetting', access: 'operate' },
    step: (_item, { runId }) => ({ do: 'reset', runId }),
  },
  budget: {
    lists: 'exhausted budgets',
    ...{ sign: '!', action: 'retry', button: 'Retry', doing: 'Retrying', access: 'control' },
    step: (_item, run) => nextSteps(run)[0] ?? { do: 'status', runId: run.runId },
  },
  engine: { lists: 'engines that take no stories', sign: '!' },
  land: {
    lists: 'results to land',
    ...{ sign: '+', action: 'land', button: 'Land', doing: 'Landing', access: 'operate' },
    step: (_item, { runId }) => ({ do: 'land', runId }),
  },
} satisfies Record<string, KindRow>;

/** What a person decides. */
export type InboxKind = keyof typeof INBOX;

/** What waits in a run. */
export type RunInboxKind = Exclude<InboxKind, 'engine'>;

export const INBOX_KINDS = Object.keys(INBOX) as [InboxKind, ...InboxKind[]];

/** What the inbox lists, as a part of a sentence; `all`: also results, which block nothing. */
export function inboxContent({ all }: { all: boolean }): string {
  const listed = INBOX_KINDS.filter((kind) => all || INBOX[kind].sign !== '+').map((kind) => INBOX[kind].lists);
  return `${listed.slice(0, -1).join(', ')}, and ${listed.at(-1)}`;
}

export interface InboxItem {
  kind: RunInboxKind;
  story?: StoryState;
  text: string;
}

/** E.g. `? answer`. */
export function inboxLabel(kind: InboxKind): string {
  return `${INBOX[kind].sign} ${kind}`;
}

/** Whether the run cannot continue without a person. */
export function asksPerson({ kind }: Pick<InboxItem, 'kind'>): boolean {
  return INBOX[kind].sign === '?';
}

/** How a person begins with an item of the inbox. */
export function inboxStep(item: InboxItem, run: ListedRun): Omit<NextStep, 'why'> {
  return INBOX[item.kind].step(item, run);
}

/** All that a person may do about an item, as steps. */
export function inboxSteps(item: InboxItem, run: ListedRun): Omit<NextStep, 'why'>[] {
  const place = placeOf(item, run);
  const { further = [] }: KindRow = INBOX[item.kind];
  return [inboxStep(item, run), ...further.map((each) => ({ do: each, ...place }))];
}

/** A breaker of a repository or a provider, which is not one of a run, as an item with the command that continues. */
export function sharedBreakerItem({ key, status, reason }: BreakerView) {
  const kind: InboxKind = 'breaker';
  return { kind, text: `${key} is ${status}: ${reason}`, command: `halo breaker reset ${printableShellWord(key)}` };
}

/** An engine that takes no stories, as an item with the command, for the machine of the server, that says why. */
export function outageItem(outage: EngineOutage) {
  const kind: InboxKind = 'engine';
  return { kind, text: outageText(outage), command: `halo engine check ${printableShellWord(outage.engine)}` };
}

function placeOf({ story }: InboxItem, { runId }: ListedRun): Pick<NextStep, 'runId' | 'story'> {
  return { runId, ...(story && { story: story.id }) };
}

/**
 * What of a run waits for a decision of a person. Questions of stories that another one of `runs` has done since need no
 * answer.
 */
export function inboxItems(run: ListedRun, runs: readonly ListedRun[]): InboxItem[] {
  const items = run.stories.flatMap((story): InboxItem[] => {
    const text = story.summary ?? story.title;
    const kind = awaitedOf(story, run);
    if (kind === undefined) return [];
    if (kind === 'approval') return [{ kind, story, text }];
    const more = questionLines(story).join('  ');
    return isDoneSince(story, run, runs) ? [] : [{ kind, story, text: more === '' ? text : `${text}  ${more}` }];
  });
  if (awaitsDecision(run)) items.push({ kind: 'approval', text: 'the result of the run' });
  // A run that its breaker ended continues after a reset, unless a newer run has done its stories.
  const isOpen = (story: StoryState) => isIn('open', story) || isIn('stuck', story);
  const isBlocked =
    run.status !== 'ended' || run.stories.some((story) => isOpen(story) && !isDoneSince(story, run, runs));
  if (run.breaker !== undefined && isBlocked) items.push({ kind: 'breaker', text: run.breaker });
  const isLandable = run.stopReason === 'SUCCESS' && run.landed === undefined && canLand(run) === true;
  const isOnForge = run.pull !== undefined && run.pull.ended !== 'closed';
  if (isLandable && !isOnForge && items.length === 0) {
    items.push({ kind: 'land', text: `${storyCount(run)} stories, not on your branch yet${describeFlags(run)}` });
  }
  if (isBudgetStop(run, runs)) items.push({ kind: 'budget', text: budgetText(run) });
  return items;
}

/** What a person has to confirm. */
function describeFlags(run: ListedRun): string {
  const flags = flagsOf(landingChanges(run));
  return flags.length === 0 ? '' : `; flagged: ${flags.join(', ')}`;
}

/** Whether it ended because a budget was used up, and no newer run works on the same PRD. */
function isBudgetStop(run: ListedRun, runs: readonly ListedRun[]): boolean {
  if (run.status !== 'ended' || run.stories.every(isDone)) return false;
  if (run.stopReason !== 'BUDGET_EXCEEDED' && !run.stories.some(isStoppedByBudget)) return false;
  return !runs.some((other) => isNewer(other, run));
}

function isStoppedByBudget({ progress, stopReason }: StoryState): boolean {
  return progress === 'failed' && stopReason === 'BUDGET_EXCEEDED';
}

/** Which budget is used up. */
function budgetText({ stories, detail }: ListedRun): string {
  return stories.find(isStoppedByBudget)?.summary ?? detail ?? 'A budget is used up.';
}

/** Whether a newer run of the same PRD has done a story of `run`. */
function isDoneSince({ id }: StoryState, run: ListedRun, runs: readonly ListedRun[]): boolean {
  return runs.some((other) => isNewer(other, run) && other.stories.some((story) => story.id === id && isDone(story)));
}

/** Whether it is a newer run of the same PRD. */
function isNewer({ repo, prdPath, createdAt }: ListedRun, run: ListedRun): boolean {
  return createdAt > run.createdAt && repo.source === run.repo.source && prdPath === run.prdPath;
}
