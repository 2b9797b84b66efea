import type { Usage } from '../../core/agent.ts';
import type { ModelPause } from '../../core/failure/model-pause.ts';

/** The maximum tokens of a request, and the minimum output that is useful. */
export interface Estimate {
  model: string;
  inputTokens: number;
  outputTokens: number;
  leastOutput: number;
}

/** The reserved budget of a request. Settle it exactly once, in any case. */
export interface Reservation {
  /** Maximum tokens of the response. */
  outputTokens: number;
  /**
   * Counts the actual usage. When the response reported only `part` of it, at least the reservation counts. Never throws.
   */
  settle(used: Usage, reported: 'all' | 'part'): Promise<SettledUsage>;
}

export interface SettledUsage {
  /** The usage with its cost. */
  usage: Usage;
  /** A sentence about a budget that is now overdrawn, because the provider counted more than was reserved. */
  overrun?: string;
}

export type ReserveResult =
  | { kind: 'granted'; reservation: Reservation }
  /** Not now. `reason` is a sentence for users; `pause`: the pause of the model that causes the wait. */
  | { kind: 'wait'; ms: number; reason: string; pause?: ModelPause }
  /** The budget is used up. */
  | { kind: 'spent'; reason: string };

/** The budgets, rate limits and provider pauses that all gateways share. */
export interface BudgetPort {
  /** A pause of a model that is longer ends the attempt, because agents do not wait for so long. */
  longestPauseMs: number;
  /** Reserves the estimate. Throws when the remaining budget is unknown. */
  reserve(estimate: Estimate): Promise<ReserveResult>;
  /** Blocks requests for this model, because the provider asked for a pause. Never throws. */
  pauseModel(model: string, ms: number): Promise<void>;
}
