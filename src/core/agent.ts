import type { FailureCause } from './failure/failure.ts';
import type { CriterionClaim } from './review/criteria.ts';

/** The agents that halo has an adapter for. Others are agents of the Agent Client Protocol, with a name from halo.toml. */
export const AGENT_IDS = ['codex', 'claude', 'opencode', 'gemini', 'command'] as const;
export type AgentId = (typeof AGENT_IDS)[number];

/** Whether this is one of `AGENT_IDS`, and not the name of an agent of the Agent Client Protocol. */
export function hasOwnAdapter(name: string): name is AgentId {
  return AGENT_IDS.some((id) => id === name);
}

/** One entry of the agent's readable log. */
export type AgentActivity =
  | { kind: 'say'; text: string }
  | { kind: 'run'; command: string }
  | { kind: 'ran'; command: string; exitCode: number | undefined; output: string }
  | { kind: 'edit'; path: string; change: 'add' | 'update' | 'delete' }
  | { kind: 'warn'; text: string };

const MAX_MESSAGE_LENGTH = 4_000;

/**
 * Adds an activity to a list, a message to the message at its end up to a limited length, because an agent may print very
 * many lines.
 */
export function addActivity(activities: AgentActivity[], activity: AgentActivity): void {
  const last = activities.at(-1);
  if (activity.kind !== 'say' || last?.kind !== 'say') activities.push({ ...activity });
  else if (!isFull(activities)) last.text += `\n${activity.text}`;
}

/** Whether the last activity is a message that is too long for more. */
export function isFull(activities: readonly AgentActivity[]): boolean {
  const last = activities.at(-1);
  return last?.kind === 'say' && last.text.length >= MAX_MESSAGE_LENGTH;
}

/** The result that every agent is asked to report. */
export interface AgentAnswer {
  status: 'ok' | 'needs_human' | 'failed';
  summary: string;
  /** Which tests and files satisfy each acceptance criterion, if reported. */
  criteria?: CriterionClaim[];
  /** Answers that the agent proposes to its question. */
  options?: string[];
  /** Keys that halo does not know, such as `filesChanged`. */
  other?: Record<string, unknown>;
}

/** How the agent program ended, according to its adapter. `error` is one sentence. */
export type AgentOutcome =
  | { kind: 'answer'; answer: AgentAnswer }
  | { kind: 'invalid'; error: string }
  | { kind: 'error'; error: string; cause?: FailureCause };

/** Tokens that an attempt used, metered by the gateway. */
export interface Usage {
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  /** Input written to the provider's cache, if that is priced separately. */
  cacheWriteTokens?: number;
  outputTokens: number;
  /** Cost of models with a known price. A response without usage counts with the amount reserved for it. */
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

/** Adds optional amounts; absent in both stays absent. Rounds to millionths. */
function sumOf(key: 'cacheWriteTokens' | 'costUsd', a: Usage, b: Usage): Partial<Usage> {
  if (a[key] === undefined && b[key] === undefined) return {};
  return { [key]: Math.round(((a[key] ?? 0) + (b[key] ?? 0)) * 1e6) / 1e6 };
}

/** The supported model APIs: OpenAI and compatible ones, Anthropic, and Google Gemini. */
export const MODEL_APIS = ['openai', 'anthropic', 'google'] as const;
export type ModelApi = (typeof MODEL_APIS)[number];
