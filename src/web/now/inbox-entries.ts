import type { BreakerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { StoryState } from '../../core/run/state.ts';
import { INBOX, inboxItems, type InboxKind } from '../../view/inbox.ts';
import { mayDo, type Person } from '../page/page-parts.tsx';

/** Something that waits for a decision: of a run, or a breaker that runs share. */
export type InboxEntry = { key: string; canDecide: boolean } & (
  | { of: 'run'; run: ListedRun; kind: InboxKind; story?: StoryState; text: string; waitsFor: string }
  | { of: 'all'; breaker: BreakerView }
);

/** What waits for a decision of a person, and whether `person` may decide it. */
export function listInbox(
  runs: readonly ListedRun[],
  breakers: readonly BreakerView[],
  person: Person,
): readonly InboxEntry[] {
  const ofRuns = runs.flatMap((run) => inboxItems(run, runs).map((item) => ({ run, ...item })));
  return [
    ...ofRuns.map((item): InboxEntry => {
      const { run, kind, text, story } = item;
      const { access } = INBOX[kind];
      return {
        ...{ of: 'run', run, kind, text, ...(story !== undefined && { story }) },
        key: `${run.runId} ${kind} ${story?.id ?? ''}`,
        canDecide: mayDo(person, access, run.user),
        waitsFor: access === 'control' ? `${run.user} or an operator` : 'an operator',
      };
    }),
    ...breakers.map((breaker): InboxEntry => {
      const canDecide = mayDo(person, INBOX.breaker.access);
      return { of: 'all', key: breaker.key, breaker, canDecide };
    }),
  ];
}

/** Whether work waits for the decision. Results that are not on a branch yet block nothing. */
export function blocksWork(entry: InboxEntry): boolean {
  return entry.of === 'all' || INBOX[entry.kind].sign !== '+';
}
