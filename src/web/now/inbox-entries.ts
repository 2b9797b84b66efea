import type { BreakerView } from '../../api/operations/schemas.ts';
import type { EngineOutage } from '../../core/engine/engine-outage.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { StoryState } from '../../core/run/state.ts';
import { INBOX, inboxItems, type RunInboxKind } from '../../view/inbox.ts';
import { mayDo, type Person } from '../page/page-parts.tsx';

/** What waits for a person and concerns several runs. */
export interface SharedItems {
  breakers: readonly BreakerView[];
  /** Engines that take no stories: a person looks at their machines. */
  outages: readonly EngineOutage[];
}

/** Something that waits for a person: in a run, a breaker that runs share, or an engine. */
export type InboxEntry = { key: string; canDecide: boolean } & (
  | { of: 'run'; run: ListedRun; kind: RunInboxKind; story?: StoryState; text: string; waitsFor: string }
  | { of: 'all'; breaker: BreakerView }
  | { of: 'engine'; outage: EngineOutage }
);

/** What waits for a decision of a person, and whether `person` may decide it. */
export function listInbox(
  runs: readonly ListedRun[],
  { breakers, outages }: SharedItems,
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
    ...outages.map((outage): InboxEntry => {
      const canDecide = mayDo(person, 'administer');
      return { of: 'engine', key: `engine ${outage.engine}`, outage, canDecide };
    }),
  ];
}

/** Whether work waits for the decision. Results that are not on a branch yet block nothing. */
export function blocksWork(entry: InboxEntry): boolean {
  return entry.of !== 'run' || INBOX[entry.kind].sign !== '+';
}
