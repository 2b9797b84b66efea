import { addUsage, NO_USAGE, type Usage } from '../../../core/agent.ts';
import { countedUsage, isMeteredAfter, isNothing } from '../../../core/journal/counted-usage.ts';
import { attemptName } from '../../../core/journal/fold-failures.ts';
import type { AttemptRef } from '../../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';

/** What costs can be grouped by; `day` is a day in UTC. */
export const COST_GROUPS = ['run', 'story', 'project', 'repo', 'user', 'agent', 'model', 'day'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

/** Reads groups that are separated by commas, such as `repo,day`; undefined if one is unknown or named twice. */
export function parseCostGroups(text: string): CostGroup[] | undefined {
  const names = text.split(',');
  const groups = COST_GROUPS.filter((group) => names.includes(group));
  if (groups.length !== names.length) return undefined;
  return names as CostGroup[];
}

/** What one attempt used of one model on one day. */
export interface AttemptCost {
  runId: string;
  story: string;
  attempt: number;
  /** The project of the PRD; absent if it has none. */
  project?: string;
  /** Path or URL of the repository. */
  repo: string;
  /** Who submitted the run. */
  user: string;
  /** The id of the agent, if known. */
  agent?: string;
  /** The model; undefined for usage that was recorded only as a sum. */
  model?: string;
  /** `YYYY-MM-DD`, in UTC. */
  day: string;
  usage: Usage;
}

/** The costs of all attempts with the same values of the groups. */
export interface CostRow {
  /** The values of the groups, separated by spaces. */
  key: string;
  /** The value of each group; for `story` the id of the run and of the story, separated by a space; `-` if unknown. */
  keys: string[];
  runs: number;
  attempts: number;
  usage: Usage;
  /** The day of the last use; absent without any. `YYYY-MM-DD`, in UTC. */
  lastDay?: string;
}

export type CostSum = Omit<CostRow, 'key' | 'keys'>;

export interface CostReport {
  /** The groups, separated by commas. */
  by: string;
  /** Most expensive first; in order of days if `day` is the first group. */
  rows: CostRow[];
  total: CostSum;
}

/**
 * Reads the costs of a run from its journal, event by event. The sum over a whole journal is the usage in the state of
 * the run. Events before `since` (ISO 8601) do not count.
 */
export class CostReader {
  readonly #costs = new Map<string, AttemptCost>();
  readonly #metered = new Set<string>();
  /** The agent that was last started for a story. */
  readonly #agents = new Map<string, string>();
  readonly #since: string;
  #run = { runId: '', repo: '', user: '' } as Pick<AttemptCost, 'runId' | 'project' | 'repo' | 'user' | 'agent'>;

  constructor(since = '') {
    this.#since = since;
  }

  read(event: JournalEvent): void {
    if (event.type === 'run.created') {
      const { runId, repo, user, agent, prd } = event;
      this.#run = {
        ...{ runId, repo: repo.source, user },
        ...(agent !== undefined && { agent }),
        ...(prd.project !== '' && { project: prd.project }),
      };
    } else if (event.type === 'agent.launched') {
      this.#agents.set(event.story, event.agent);
    }
    if ('attempt' in event) this.#count(event);
  }

  #count(event: JournalEvent & AttemptRef): void {
    const key = attemptName(event.story, event.attempt);
    const isMetered = this.#metered.has(key);
    const counted = countedUsage(event, isMetered);
    if (counted !== undefined) this.#add(event, counted.usage, counted.model);
    if (isMeteredAfter(event, isMetered)) this.#metered.add(key);
    else this.#metered.delete(key);
  }

  costs(): AttemptCost[] {
    return [...this.#costs.values()];
  }

  #add({ at, story, attempt }: { at: string; story: string; attempt: number }, usage: Usage, model?: string): void {
    if (at < this.#since || isNothing(usage)) return;
    const day = at.slice(0, 10);
    const agent = this.#agents.get(story) ?? this.#run.agent;
    const key = JSON.stringify([story, attempt, agent ?? null, model ?? null, day]);
    const before = this.#costs.get(key)?.usage ?? NO_USAGE;
    this.#costs.set(key, {
      ...this.#run,
      story,
      attempt,
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
      day,
      usage: addUsage(before, usage),
    });
  }
}

/** Sums costs by the values of all of `by`, in this order. */
export function groupCosts(costs: readonly AttemptCost[], ...by: readonly CostGroup[]): CostReport {
  const groups = new Map<string, AttemptCost[]>();
  for (const cost of costs) {
    const id = JSON.stringify(by.map((group) => keyOf(cost, group)));
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [cost]);
    else group.push(cost);
  }
  const rows = [...groups].map(([id, members]) => {
    const keys = JSON.parse(id) as string[];
    return { key: keys.join(' '), keys, ...sumOf(members) };
  });
  rows.sort((a, b) => (by[0] === 'day' ? byText(a.keys[0], b.keys[0]) : 0) || byAmount(a, b) || byText(a.key, b.key));
  return { by: by.join(','), rows, total: sumOf(costs) };
}

function byText(a = '', b = ''): number {
  return a === b ? 0 : a < b ? -1 : 1;
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

function sumOf(costs: readonly AttemptCost[]): CostSum {
  const lastDay = costs.reduce<string | undefined>(
    (last, { day }) => (last === undefined || day > last ? day : last),
    undefined,
  );
  return {
    ...(lastDay !== undefined && { lastDay }),
    runs: new Set(costs.map(({ runId }) => runId)).size,
    attempts: new Set(costs.map(({ runId, story, attempt }) => JSON.stringify([runId, story, attempt]))).size,
    usage: costs.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
  };
}

function byAmount({ usage: a }: CostSum, { usage: b }: CostSum): number {
  return (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens;
}
