import { attemptMs, foldAttempts, totalUsage } from '../journal/attempts.ts';
import { foldRun } from '../journal/fold-run.ts';
import type { JournalEvent } from '../journal/events.ts';
import { isDone, type RunState, type StoryState } from '../run/state.ts';

/** What a story took, with all of its attempts. */
interface StoryEffort {
  story: StoryState;
  landed: boolean;
  /** Attempts with a verdict; those that a worker or the infrastructure interrupted do not count. */
  attempts: number;
  /** The end of the last of them. ISO 8601 */
  endedAt: string;
  /** The agent of its last attempt; absent if it is not known. */
  agent?: string;
  /** The model of its last attempt; absent if it is not known. */
  model?: string;
  /** The sum of its attempts, without the time between them. */
  ms: number;
  /** Absent if the cost of a part is not known. */
  costUsd?: number;
}

/** What a story of an earlier run took. */
export interface StorySample extends Pick<StoryEffort, 'landed' | 'agent' | 'model' | 'costUsd'> {
  runId: string;
  minutes: number;
}

/** The stories of a run that had an attempt with a verdict; the activities of agents may be left out. */
export function effortsOf(run: RunState, events: readonly JournalEvent[]): StoryEffort[] {
  const attempts = foldAttempts(events);
  return run.stories.flatMap((story): StoryEffort[] => {
    const own = attempts.filter((attempt) => attempt.story === story.id);
    const judged = own.filter(({ end }) => end !== undefined && end.verdict !== 'interrupted');
    const endedAt = judged.at(-1)?.end?.at;
    if (endedAt === undefined) return [];
    const usage = own.flatMap((attempt) => attempt.usage);
    const isPriced = usage.length > 0 && usage.every(({ isUnpriced }) => isUnpriced === undefined);
    const { costUsd } = totalUsage(usage);
    const launched = own.flatMap((attempt) => attempt.agent ?? []).at(-1);
    const agent = launched?.agent ?? run.agent;
    const model = launched?.model ?? usage.flatMap((each) => each.model ?? []).at(-1);
    return [
      {
        ...{ story, landed: isDone(story), attempts: judged.length, endedAt },
        ...(agent !== undefined && { agent }),
        ...(model !== undefined && { model }),
        ms: own.reduce((sum, attempt) => sum + attemptMs(attempt, attempt.end?.at ?? attempt.startedAt), 0),
        ...(isPriced && costUsd !== undefined && { costUsd }),
      },
    ];
  });
}

/** The stories of a run from its journal. None if the run has not ended, or is a dry run or a plan. */
export function samplesOf(events: readonly JournalEvent[]): StorySample[] {
  const run = foldRun(events);
  if (run?.status !== 'ended' || run.dry === true) return [];
  return effortsOf(run, events).map(({ landed, agent, model, costUsd, ms }) => ({
    runId: run.runId,
    landed,
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    minutes: ms / 60_000,
    ...(costUsd !== undefined && { costUsd }),
  }));
}
