import type { Usage } from '../core/agent.ts';

/** The most that a request can take, and the least answer that would be of use. Tokens. */
export interface Worst {
  model: string;
  inputTokens: number;
  outputTokens: number;
  leastOutput: number;
}

/** What a request may take; settle it in any case, once. */
export interface Grant {
  /** Most tokens that the answer may have. */
  outputTokens: number;
  /**
   * Counts what was used. When the answer told only `part` of it, at least all that was held counts. Never throws.
   */
  settle(used: Usage, told: 'all' | 'part'): Promise<Settled>;
}

export interface Settled {
  /** With its cost. */
  usage: Usage;
  /** A sentence about the budget that is overdrawn now: the provider counted more than could be held. */
  overrun?: string;
}

export type Permission =
  | { kind: 'granted'; grant: Grant }
  /** Not now: `reason` is a sentence for people. */
  | { kind: 'wait'; ms: number; reason: string }
  /** Not at all: the budget is used up. */
  | { kind: 'spent'; reason: string };

/** What all gateways share: budgets, rates, and the pauses that a provider asked for. */
export interface Allowance {
  /** Throws when it is not known what may be spent. */
  reserve(worst: Worst): Promise<Permission>;
  /** A provider wants no request for this model for a while. Never throws. */
  cool(model: string, ms: number): Promise<void>;
}
