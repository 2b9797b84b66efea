/** What an agent did, for people: one entry of the cooked log. */
export type AgentActivity =
  | { kind: 'say'; text: string }
  | { kind: 'run'; command: string }
  | { kind: 'ran'; command: string; exitCode: number | undefined; output: string }
  | { kind: 'edit'; path: string; change: 'add' | 'update' | 'delete' }
  | { kind: 'warn'; text: string };

/** What the agent claims of a story, in the shape every agent is asked for. */
export interface AgentAnswer {
  status: 'ok' | 'needs_human' | 'failed';
  summary: string;
}

/** How the agent program ended, as its adapter reads it. `error` is one sentence for people. */
export type AgentOutcome =
  { kind: 'answer'; answer: AgentAnswer } | { kind: 'invalid'; error: string } | { kind: 'error'; error: string };

/** Tokens that an attempt used, metered by the gateway. */
export interface Usage {
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

export const NO_USAGE: Usage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}
