import { foldRun } from '../../../core/journal/fold-run.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { hasTrait } from '../../../core/run/progress.ts';
import { msBetween } from '../../../core/text/format-elapsed.ts';
import { effortsOf } from '../../../core/report/story-samples.ts';

/** What the results of stories can be grouped by; `day` is the day of the last attempt in UTC. */
export const QUALITY_GROUPS = ['repo', 'user', 'agent', 'model', 'day'] as const;
type QualityGroup = (typeof QUALITY_GROUPS)[number];

/** The result of a story that needs no more attempts. */
export interface StoryResult {
  runId: string;
  story: string;
  repo: string;
  user: string;
  /** The agent and the model of its last attempt, if known. */
  agent?: string;
  model?: string;
  /** `YYYY-MM-DD`, in UTC. */
  day: string;
  landed: boolean;
  /** Attempts with a verdict; those that a worker or the infrastructure interrupted do not count. */
  attempts: number;
  /** Of all its attempts; absent if the cost of a part is not known. */
  costUsd?: number;
  /** From the submission of its run to its last attempt; only of a story that landed. */
  msToLand?: number;
}

/** Figures of the stories of a group. */
export interface QualitySum {
  /** Stories that passed or failed. */
  stories: number;
  landed: number;
  /** Stories that passed with their first attempt. */
  firstPass: number;
  attempts: number;
  /** Passed stories whose costs are known. */
  landedMetered: number;
  /** What the stories cost whose costs are known, divided by those of them that landed; absent if none of them landed. */
  costPerLanded?: number;
  /** The median; absent if no story landed. */
  minutesToLand?: number;
}

export interface QualityReport {
  by: QualityGroup;
  /** The group with the most stories first; in order of days for `day`. `-`: not known. */
  rows: (QualitySum & { key: string })[];
  total: QualitySum;
}

/**
 * The results of the stories of a run whose last attempt ended at or after `since` (ISO 8601), from its journal; the
 * activities of agents may be left out. None of a dry run.
 */
export function resultsOf(events: readonly JournalEvent[], since = ''): StoryResult[] {
  const run = foldRun(events);
  if (run === undefined || run.dry === true) return [];
  return effortsOf(run, events).flatMap(
    ({ story, landed, attempts, endedAt, agent, model, costUsd }): StoryResult[] => {
      const isOpen = hasTrait('undecided', story) || story.waiting !== undefined;
      if (isOpen || endedAt < since) return [];
      return [
        {
          ...{ runId: run.runId, story: story.id, repo: run.repo.source },
          user: run.user,
          ...(agent !== undefined && { agent }),
          ...(model !== undefined && { model }),
          ...{ day: endedAt.slice(0, 10), landed, attempts },
          ...(costUsd !== undefined && { costUsd }),
          ...(landed && { msToLand: msBetween(run.createdAt, endedAt) }),
        },
      ];
    },
  );
}

/** Sums the results of stories by the values of `by`. */
export function groupQuality(results: readonly StoryResult[], by: QualityGroup): QualityReport {
  const groups = new Map<string, StoryResult[]>();
  for (const result of results) {
    const key = result[by] ?? '-';
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [result]);
    else group.push(result);
  }
  const rows = [...groups].map(([key, members]) => ({ key, ...sumOf(members) }));
  rows.sort((a, b) => (by === 'day' ? 0 : b.stories - a.stories) || (a.key < b.key ? -1 : 1));
  return { by, rows, total: sumOf(results) };
}

function sumOf(results: readonly StoryResult[]): QualitySum {
  const landed = results.filter((result) => result.landed);
  const costs = results.flatMap(({ costUsd }) => costUsd ?? []);
  const landedMetered = landed.filter(({ costUsd }) => costUsd !== undefined).length;
  const times = landed.flatMap(({ msToLand }) => msToLand ?? []).sort((a, b) => a - b);
  const median = times[Math.floor((times.length - 1) / 2)];
  return {
    stories: results.length,
    landed: landed.length,
    firstPass: landed.filter(({ attempts }) => attempts === 1).length,
    attempts: results.reduce((sum, { attempts }) => sum + attempts, 0),
    landedMetered,
    ...(landedMetered > 0 && { costPerLanded: costs.reduce((sum, cost) => sum + cost, 0) / landedMetered }),
    ...(median !== undefined && { minutesToLand: median / 60_000 }),
  };
}
