import type { LineReader } from '../../../agents/adapter.ts';
import { addActivity, isFull, type AgentActivity } from '../../../core/agent.ts';

/** What the output of an agent says about its run. */
export interface AgentRun {
  /** Characters that it printed, with line ends; undefined if it printed none. */
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

export interface RunCollector {
  /** Reads the next lines, a text without the last line end, and returns their activities, consecutive messages joined. */
  add(lines: string): AgentActivity[];
  /** What is known so far. */
  run(): AgentRun;
}

interface OutputReader {
  read: LineReader;
  /** Whether lines are only messages, of which the first ones are enough. */
  isTalk?: ((lines: string) => boolean) | undefined;
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
  return {
    add(lines) {
      const activities: AgentActivity[] = [];
      const isOnlyTalk = isTalk?.(lines) === true;
      for (let from = 0; from <= lines.length && !(isOnlyTalk && isFull(activities));) {
        const end = lines.indexOf('\n', from);
        const to = end < 0 ? lines.length : end;
        const parsed = read(lines.slice(from, to));
        run.answerText = parsed.answerText ?? run.answerText;
        run.error = parsed.error ?? run.error;
        for (const activity of parsed.activities) {
          if (activity.kind === 'ran' || activity.kind === 'edit') run.blockedBy = undefined;
          addActivity(activities, activity);
        }
        run.denied ??= parsed.denied;
        run.blockedBy = parsed.denied ?? run.blockedBy;
        from = to + 1;
      }
      run.output = (run.output ?? 0) + lines.length + 1;
      return activities;
    },
    run: () => ({ ...run }),
  };
}
