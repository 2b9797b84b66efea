import type { CriterionClaim } from './review/criteria.ts';
import type { FailureCause } from './failure/failure.ts';

/** The agents that halo knows. */
export const AGENT_IDS = ['codex', 'claude', 'opencode', 'gemini', 'command'] as const;
export type AgentId = (typeof AGENT_IDS)[number];

/** What an agent did, for people: one entry of the cooked log. */
export type AgentActivity =
  | { kind: 'say'; text: string }
  | { kind: 'run'; command: string }
  | { kind: 'ran'; command: string; exitCode: number | undefined; output: string }
  | { kind: 'edit'; path: string; change: 'add' | 'update' | 'delete' }
  | { kind: 'warn'; text: string };

const LONGEST_SAYING = 4_000;

/** Makes one saying of several in a row, cut to what people read: an agent may print a line a microsecond. */
export function joinSayings(activities: readonly AgentActivity[]): AgentActivity[] {
  const joined: AgentActivity[] = [];
  for (const activity of activities) {
    const last = joined.at(-1);
    if (activity.kind !== 'say' || last?.kind !== 'say') joined.push({ ...activity });
    else if (last.text.length < LONGEST_SAYING) last.text += `\n${activity.text}`;
  }
  return joined;
}

/** What the agent claims of a story, in the shape every agent is asked for. */
export interface AgentAnswer {
  status: 'ok' | 'needs_human' | 'failed';
  summary: string;
  /** What satisfies each acceptance criterion, as far as it says so. */
  criteria?: CriterionClaim[];
}

/** How the agent program ended, as its adapter reads it. `error` is one sentence for people. */
export type AgentOutcome =
  | { kind: 'answer'; answer: AgentAnswer }
  | { kind: 'invalid'; error: string }
  | { kind: 'error'; error: string; cause?: FailureCause };

/** Tokens that an attempt used, metered by the gateway. */
export interface Usage {
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  /** Input that went into the provider's cache, where that has a price of its own. */
  cacheWriteTokens?: number;
  outputTokens: number;
  /** What it cost, as far as the models have a price; where an answer did not tell, what was held for it. */
  costUsd?: number;
}

export const NO_USAGE: Usage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    ...sumOf('cacheWriteTokens', a, b),
    outputTokens: a.outputTokens + b.outputTokens,
    ...sumOf('costUsd', a, b),
  };
}

/** Absent in both stays absent. Millionths are exact. */
function sumOf(key: 'cacheWriteTokens' | 'costUsd', a: Usage, b: Usage): Partial<Usage> {
  if (a[key] === undefined && b[key] === undefined) return {};
  return { [key]: Math.round(((a[key] ?? 0) + (b[key] ?? 0)) * 1e6) / 1e6 };
}
