import { HaloError } from '../../core/failure/errors.ts';
import { sleep } from '../../lib/async.ts';
import type { BudgetPort, Reservation } from './budget-port.ts';
import type { RequestLog } from '../request-log.ts';
import type { ModelRequest } from '../model/model-route.ts';
import { estimateRequest } from './estimate-max-tokens.ts';

/** Maximum time that a client waits for its budget; agents wait minutes for a first byte. */
export const MAX_WAIT_MS = 60_000;

/** An error response of the gateway instead of the provider's response. */
export interface Refusal {
  status: number;
  sentence: string;
  /** Seconds, for `retry-after`. */
  retryAfter?: number;
  /** The log has its problem already. */
  logged?: true;
}

export interface ReserveOptions {
  budget: BudgetPort;
  request: ModelRequest;
  log: RequestLog;
  /** The remaining time that this client may be kept waiting, in ms. */
  patience: { ms: number };
  signal: AbortSignal;
  /** Keys that the provider has refused for this request. */
  avoid: readonly number[];
}

/** Reserves the budget of a request. Waits up to `patience` for rate limits, and refuses when a budget is used up. */
export async function reserveBudget(options: ReserveOptions): Promise<Reservation | Refusal> {
  const { budget, request, log, patience, signal, avoid } = options;
  for (;;) {
    const reply = await budget.reserve(estimateRequest(request), avoid).catch(asFault);
    if ('fault' in reply) {
      log.reportProblem({ sentence: reply.fault }, 'fault');
      return { status: 503, sentence: reply.fault };
    }
    switch (reply.kind) {
      case 'granted':
        return reply.reservation;
      case 'spent':
        log.reportProblem({ sentence: reply.reason, limit: reply.limit }, 'budget');
        // Clients do not retry a request after status 400.
        return { status: 400, sentence: reply.reason };
      case 'wait':
        // The caller has a response of another key.
        if (avoid.length > 0 && reply.ms > patience.ms) return { status: 429, sentence: reply.reason, logged: true };
        if (reply.pause !== undefined && reply.ms > budget.longestPauseMs) {
          log.reportPause({ sentence: reply.reason, cause: 'rate-limited' }, reply.pause);
          // Clients do not retry a request after status 400.
          return { status: 400, sentence: reply.reason, logged: true };
        }
        if (reply.ms > patience.ms) {
          log.reportProblem({ sentence: reply.reason, cause: 'rate-limited' });
          return { status: 429, sentence: reply.reason, retryAfter: Math.ceil(reply.ms / 1000) };
        }
        patience.ms -= reply.ms;
        await sleep(reply.ms, signal);
        signal.throwIfAborted();
    }
  }
}

function asFault(error: unknown): { fault: string } {
  if (error instanceof HaloError) return { fault: error.message };
  throw error;
}
