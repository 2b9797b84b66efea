import type { BreakerView } from '../../api/operations/requests.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { isDone, type StoryState } from '../../core/run/state.ts';
import { inboxItems } from '../../tui/top/inbox-items.ts';
import { mayDo, type Person } from '../page/page-parts.tsx';

const LAND = '+ land';

/** Something that waits for a decision: of a run, or a breaker that runs share. */
export type InboxEntry = { key: string; canDecide: boolean } & (
  | { kind: 'run'; run: ListedRun; what: string; story?: StoryState; text: string; waitsFor: string }
  | { kind: 'shared'; breaker: BreakerView }
);

/** What waits for a decision of a person, and whether `person` may decide it. */
export function listInbox(
  runs: readonly ListedRun[],
  breakers: readonly BreakerView[],
  person: Person,
): readonly InboxEntry[] {
  const ofRuns = runs.flatMap((run) => inboxItems(run, runs).map((item) => ({ run, ...item })));
  const stops = runs
    .filter((run) => isBudgetStop(run, runs))
    .map((run) => ({ run, what: '! budget', text: budgetText(run), story: undefined }));
  return [
    ...[...ofRuns, ...stops].map((item): InboxEntry => {
      const { run, what, text, story } = item;
      const access = what === '? answer' || what === '! budget' ? 'control' : 'operate';
      const isOwn = access === 'control' && run.user !== undefined;
      return {
        ...{ kind: 'run', run, what, text, ...(story !== undefined && { story }) },
        key: `${run.runId} ${what} ${story?.id ?? ''}`,
        canDecide: mayDo(person, access, run.user),
        waitsFor: isOwn ? `${run.user} or an operator` : 'an operator',
      };
    }),
    ...breakers.map((breaker): InboxEntry => {
      const canDecide = mayDo(person, 'operate');
      return { kind: 'shared', key: breaker.key, breaker, canDecide };
    }),
  ];
}

/** Whether work waits for the decision. Results that are not on a branch yet block nothing. */
export function blocksWork(entry: InboxEntry): boolean {
  return entry.kind === 'shared' || entry.what !== LAND;
}

/** Whether it ended because a budget was used up, and no newer run works on the same PRD. */
function isBudgetStop(run: ListedRun, runs: readonly ListedRun[]): boolean {
  if (run.status !== 'ended' || !run.stories.some((story) => !isDone(story))) return false;
  if (run.stopReason !== 'BUDGET_EXCEEDED' && !run.stories.some(isStoppedByBudget)) return false;
  return !runs.some(
    ({ createdAt, repo, prdPath }) =>
      createdAt > run.createdAt && repo.source === run.repo.source && prdPath === run.prdPath,
  );
}

function isStoppedByBudget({ progress, stopReason }: StoryState): boolean {
  return progress === 'failed' && stopReason === 'BUDGET_EXCEEDED';
}

/** Which budget is used up. */
function budgetText({ stories, detail }: ListedRun): string {
  return stories.find(isStoppedByBudget)?.summary ?? detail ?? 'A budget is used up.';
}
