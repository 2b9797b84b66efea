import type { LimitKey } from '../../core/failure/failure.ts';
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
  /** The position of the provider's key that the request uses, from 0. */
  key: number;
  /**
   * Counts the actual usage. When the response reported only `part` of it, at least the reservation counts. Never throws.
   */
  settle(used: Usage, reported: 'all' | 'part'): Promise<SettledUsage>;
}

interface SettledUsage {
  /** The usage with its cost. */
  usage: Usage;
  /** A budget that is now overdrawn, because the provider counted more than was reserved. */
  overrun?: { sentence: string; limit: LimitKey };
}

export type ReserveResult =
  | { kind: 'granted'; reservation: Reservation }
  /** Not now. `reason` is a sentence for users; `pause`: the pause of the model that causes the wait. */
  | { kind: 'wait'; ms: number; reason: string; pause?: ModelPause }
  /** The budget is used up. `limit`: the setting to raise, as in `FailureNote`. */
  | { kind: 'spent'; reason: string; limit: LimitKey };

/** Why a key is not used for a model for a time: the provider asked for a pause, or refused the key. */
export interface KeyPauseRequest {
  model: string;
  /** Its position, from 0. */
  key: number;
  ms: number;
  why: 'provider' | 'refused';
}

/** The budgets, rate limits and provider pauses that all gateways share. */
export interface BudgetPort {
  /** A pause of a model that is longer ends the attempt, because agents do not wait for so long. */
  longestPauseMs: number;
  /** Reserves the estimate, for one of the keys that are not avoided. Throws when the remaining budget is unknown. */
  reserve(estimate: Estimate, avoid?: readonly number[]): Promise<ReserveResult>;
  /** Blocks requests for a model with a key. Never throws. */
  pauseKey(pause: KeyPauseRequest): Promise<void>;
}
