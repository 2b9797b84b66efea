import type { LineReader } from '../../../agents/adapter.ts';
import { addActivity, isFull, type AgentActivity } from '../../../core/agent.ts';

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

export interface RunCollector {
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
