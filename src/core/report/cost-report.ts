import { addUsage, NO_USAGE, type Usage } from '../agent.ts';
import type { JournalEvent } from '../journal/events.ts';

/** What costs can be grouped by; `day` is a day in UTC. */
export const COST_GROUPS = ['run', 'story', 'repo', 'user', 'model', 'day'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

/** What one attempt used of one model on one day. */
export interface AttemptCost {
  runId: string;
  story: string;
  attempt: number;
  /** Path or URL of the repository. */
  repo: string;
  /** Who submitted the run, if known. */
  user?: string;
  /** The model; undefined in journals of older versions, which have only sums. */
  model?: string;
  /** `YYYY-MM-DD`, in UTC. */
  day: string;
  usage: Usage;
}

/** The costs of all attempts with the same value of a group. */
export interface CostRow {
  /** The value of the group; for `story` the id of the run and of the story, separated by a space; `-` if unknown. */
  key: string;
  runs: number;
  attempts: number;
  usage: Usage;
}

export interface CostReport {
  by: CostGroup;
  /** Most expensive first; days in order. */
  rows: CostRow[];
  total: Omit<CostRow, 'key'>;
}

/**
 * Reads the costs of a run from its journal, event by event. The sum over a whole journal is the usage in the state of
 * the run. Events before `since` (ISO 8601) do not count.
 */
export class CostReader {
  readonly #costs = new Map<string, AttemptCost>();
  readonly #metered = new Set<string>();
  readonly #since: string;
  #run = { runId: '', repo: '' } as Pick<AttemptCost, 'runId' | 'repo' | 'user'>;

  constructor(since = '') {
    this.#since = since;
  }

  read(event: JournalEvent): void {
    if (event.type === 'run.created') {
      const { runId, repo, user } = event;
      this.#run = { runId, repo: repo.source, ...(user !== undefined && { user }) };
    } else if (event.type === 'model.used') {
      this.#metered.add(event.story);
      this.#add(event, event.usage, event.model);
    } else if (event.type === 'story.ended' || event.type === 'story.stopped') {
      // Responses of a metered attempt are already counted.
      if (!this.#metered.delete(event.story)) this.#add(event, event.usage);
    }
  }

  costs(): AttemptCost[] {
    return [...this.#costs.values()];
  }

  #add({ at, story, attempt }: { at: string; story: string; attempt: number }, usage: Usage, model?: string): void {
    if (at < this.#since || isNothing(usage)) return;
    const day = at.slice(0, 10);
    const key = JSON.stringify([story, attempt, model ?? null, day]);
    const before = this.#costs.get(key)?.usage ?? NO_USAGE;
    this.#costs.set(key, {
      ...this.#run,
      story,
      attempt,
      ...(model !== undefined && { model }),
      day,
      usage: addUsage(before, usage),
    });
  }
}

export function groupCosts(costs: readonly AttemptCost[], by: CostGroup): CostReport {
  const groups = new Map<string, AttemptCost[]>();
  for (const cost of costs) {
    const key = keyOf(cost, by);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [cost]);
    else group.push(cost);
  }
  const rows = [...groups].map(([key, members]) => ({ key, ...sumOf(members) }));
  rows.sort((a, b) => (by === 'day' ? 0 : byAmount(a, b)) || (a.key < b.key ? -1 : 1));
  return { by, rows, total: sumOf(costs) };
}

function keyOf(cost: AttemptCost, by: CostGroup): string {
  switch (by) {
    case 'run':
      return cost.runId;
    case 'story':
      return `${cost.runId} ${cost.story}`;
    default:
      return cost[by] ?? '-';
  }
}

function sumOf(costs: readonly AttemptCost[]): Omit<CostRow, 'key'> {
  return {
    runs: new Set(costs.map(({ runId }) => runId)).size,
    attempts: new Set(costs.map(({ runId, story, attempt }) => JSON.stringify([runId, story, attempt]))).size,
    usage: costs.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
  };
}

function byAmount({ usage: a }: CostRow, { usage: b }: CostRow): number {
  return (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens;
}

function isNothing({ requests, inputTokens, outputTokens, costUsd = 0 }: Usage): boolean {
  return requests === 0 && inputTokens === 0 && outputTokens === 0 && costUsd === 0;
}
