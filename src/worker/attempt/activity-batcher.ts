import { joinMessages, type AgentActivity } from '../../core/agent.ts';

/** With more pending activities, reading the agent's output waits for the journal. */
const MAX_PENDING = 100;

export interface ActivityBatcher {
  /** Resolves when more activities may be added. Rejects if an earlier report failed. */
  add(activities: readonly AgentActivity[]): Promise<void>;
  /** Resolves when all activities are reported. */
  flush(): Promise<void>;
}

/** Reports activities of an agent while its output is still read. Activities that arrive during a report go together into the next one. */
export function openActivityBatcher(report: (activities: readonly AgentActivity[]) => Promise<void>): ActivityBatcher {
  let pending: AgentActivity[] = [];
  let maxPending = MAX_PENDING;
  let reporting: Promise<void> | undefined;
  const reportAll = async () => {
    while (pending.length > 0) await report(pending.splice(0));
    reporting = undefined;
  };
  const begin = () => {
    const begun = reportAll();
    begun.catch(() => (maxPending = 0));
    return begun;
  };
  return {
    add: async (activities) => {
      pending = joinMessages([...pending, ...activities]);
      if (pending.length === 0) return;
      reporting ??= begin();
      if (pending.length > maxPending) await reporting;
    },
    flush: async () => reporting,
  };
}
