import type { LineReader } from '../../../agents/adapter.ts';
import { addActivity, isFull, type AgentActivity } from '../../../core/agent.ts';
import { sleep } from '../../../lib/async.ts';

const NEWLINE = 0x0a;

/** What the output of an agent says about its run. */
export interface AgentRun {
  /** Bytes that it printed, with line ends; undefined if it printed none. */
  output: number | undefined;
  /** The last candidate for its answer. */
  answerText: string | undefined;
  /** Its own last error message. */
  error: string | undefined;
  /** The first action that its own permission rules denied. */
  denied: string | undefined;
  /** The last denied action, if the agent did nothing after it. */
  blockedBy: string | undefined;
}

interface RunCollector {
  /** Reads the next lines of UTF-8, and returns their activities, consecutive messages joined. */
  add(lines: readonly Buffer[]): AgentActivity[];
  /** What is known so far. */
  run(): AgentRun;
}

interface OutputReader {
  read: LineReader;
  /** Whether lines are only messages, of which the first ones are enough. */
  isTalk?: ((lines: Buffer) => boolean) | undefined;
}

/** Collects what an agent prints. It does little for each line, because an agent may print very many. */
export function openRunCollector({ read, isTalk }: OutputReader): RunCollector {
  const run: AgentRun = {
    output: undefined,
    answerText: undefined,
    error: undefined,
    denied: undefined,
    blockedBy: undefined,
  };
  const readLine = (line: string, activities: AgentActivity[]) => {
    const parsed = read(line);
    run.answerText = parsed.answerText ?? run.answerText;
    run.error = parsed.error ?? run.error;
    for (const activity of parsed.activities) {
      if (activity.kind === 'ran' || activity.kind === 'edit') run.blockedBy = undefined;
      addActivity(activities, activity);
    }
    run.denied ??= parsed.denied;
    run.blockedBy = parsed.denied ?? run.blockedBy;
  };
  return {
    add(parts) {
      const activities: AgentActivity[] = [];
      for (const lines of parts) {
        const isOnlyTalk = isTalk?.(lines) === true;
        for (let from = 0; from < lines.length && !(isOnlyTalk && isFull(activities));) {
          const end = lines.indexOf(NEWLINE, from);
          const to = end < 0 ? lines.length : end;
          readLine(lines.toString('utf8', from, to), activities);
          from = to + 1;
        }
        run.output = (run.output ?? 0) + lines.length;
      }
      return activities;
    },
    run: () => ({ ...run }),
  };
}

/** Reports follow each other after this time: each one appends to the journal, and an agent may print very fast. */
const EVERY_MS = 200;
/** With more pending activities, reading the agent's output waits for the journal. */
const MAX_PENDING = 100;

interface ActivityBatcher {
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
