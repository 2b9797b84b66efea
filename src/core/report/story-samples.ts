import { foldRun } from '../journal/fold-run.ts';
import type { JournalEvent } from '../journal/events.ts';
import { msBetween } from '../text/format-elapsed.ts';
import { isDone } from '../run/state.ts';
import { CostReader } from './cost-report.ts';
import { summarizeRun } from './run-summary.ts';

/** What a story of an earlier run took, with all of its attempts. */
export interface StorySample {
  runId: string;
  landed: boolean;
  /** The agent of its last attempt; absent if it is not known. */
  agent?: string;
  /** The model of its last attempt; absent if it is not known. */
  model?: string;
  /** The sum of its attempts, without the time between them. */
  minutes: number;
  /** Absent if the cost of a part is not known. */
  costUsd?: number;
}

/**
 * The stories of a run that had an attempt with a verdict, from its journal; the activities of agents may be left out.
 * None if the run has not ended, or is a dry run or a plan.
 */
export function samplesOf(events: readonly JournalEvent[]): StorySample[] {
  const run = foldRun(events);
  if (run?.status !== 'ended' || run.dry === true) return [];
  const costs = new CostReader();
  const launched = new Map<string, { agent: string; model?: string }>();
  for (const event of events) {
    costs.read(event);
    if (event.type === 'agent.launched') launched.set(event.story, event);
  }
  const { attempts } = summarizeRun(events);
  return run.stories.flatMap((story) => {
    const own = attempts.filter((attempt) => attempt.story === story.id);
    if (!own.some(({ verdict }) => verdict !== undefined && verdict !== 'interrupted')) return [];
    const used = costs.costs().filter((cost) => cost.story === story.id);
    const isPriced = used.length > 0 && used.every(({ usage }) => usage.costUsd !== undefined);
    const { agent = used.at(-1)?.agent ?? run.agent, model = used.at(-1)?.model } = launched.get(story.id) ?? {};
    const ms = own.reduce((sum, { startedAt, endedAt = startedAt }) => sum + msBetween(startedAt, endedAt), 0);
    return [
      {
        runId: run.runId,
        landed: isDone(story),
        ...(agent !== undefined && { agent }),
        ...(model !== undefined && { model }),
        minutes: ms / 60_000,
        ...(isPriced && { costUsd: used.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0) }),
      },
    ];
  });
}
