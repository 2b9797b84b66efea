import { sleep } from '../../lib/async.ts';
import { addActivity, type AgentActivity } from '../../core/agent.ts';

/** Reports follow each other after this time: each one appends to the journal, and an agent may print very fast. */
const EVERY_MS = 200;
/** With more pending activities, reading the agent's output waits for the journal. */
const MAX_PENDING = 100;

export interface ActivityBatcher {
  /** Resolves when more activities may be added. Rejects if an earlier report failed. */
  add(activities: readonly AgentActivity[]): Promise<void>;
  /** Resolves when all activities are reported. */
  flush(): Promise<void>;
}

/**
 * Reports activities of an agent while its output is still read: the first immediately, those that arrive shortly after a
 * report together in the next one.
 */
export function openActivityBatcher(report: (activities: readonly AgentActivity[]) => Promise<void>): ActivityBatcher {
  const pending: AgentActivity[] = [];
  let maxPending = MAX_PENDING;
  let reporting: Promise<void> | undefined;
  /** Whether a caller waits for the reports. */
  let isAwaited = false;
  let hurry = new AbortController();
  const wait = async () => {
    hurry = new AbortController();
    if (!isAwaited) await sleep(EVERY_MS, hurry.signal);
  };
  const finish = async () => {
    isAwaited = true;
    hurry.abort();
    await reporting;
    isAwaited = false;
  };
  const reportAll = async () => {
    while (pending.length > 0) {
      await report(pending.splice(0));
      await wait();
    }
    reporting = undefined;
  };
  const begin = () => {
    const begun = reportAll();
    begun.catch(() => (maxPending = 0));
    return begun;
  };
  return {
    add: async (activities) => {
      for (const activity of activities) addActivity(pending, activity);
      if (pending.length === 0) return;
      reporting ??= begin();
      if (pending.length > maxPending) await finish();
    },
    flush: finish,
  };
}
