import { HaloError } from '../core/failure/errors.ts';
import { sleep } from '../lib/sleep.ts';
import type { Allowance, Grant } from './allowance.ts';
import type { Ledger } from './ledger.ts';
import type { ModelRequest } from './model/model-route.ts';
import { worstCase } from './usage/estimate-max-tokens.ts';

/** Longest that a client waits in the gateway for its turn; agents wait minutes for a first byte. */
export const HOLD_MS = 60_000;

/** An answer of the gateway's own, instead of the provider's. */
export interface Refusal {
  status: number;
  sentence: string;
  /** Seconds, for `retry-after`. */
  retryAfter?: number;
}

export interface Admission {
  allowance: Allowance;
  request: ModelRequest;
  ledger: Ledger;
  /** What is left of the time that this client may be kept waiting, in ms. */
  patience: { ms: number };
  signal: AbortSignal;
}

/** Waits for a request's turn as long as its client has patience; refuses what no budget has room for. */
export async function admit(admission: Admission): Promise<Grant | Refusal> {
  const { allowance, request, ledger, patience, signal } = admission;
  for (;;) {
    const permission = await allowance.reserve(worstCase(request)).catch(asFault);
    if ('fault' in permission) {
      ledger.reportProblem({ sentence: permission.fault }, 'fault');
      return { status: 503, sentence: permission.fault };
    }
    switch (permission.kind) {
      case 'granted':
        return permission.grant;
      case 'spent':
        ledger.reportProblem({ sentence: permission.reason }, 'budget');
        // No client tries a request again that was answered so.
        return { status: 400, sentence: permission.reason };
      case 'wait':
        if (permission.ms > patience.ms) {
          ledger.reportProblem({ sentence: permission.reason, cause: 'rate-limited' });
          return { status: 429, sentence: permission.reason, retryAfter: Math.ceil(permission.ms / 1000) };
        }
        patience.ms -= permission.ms;
        await sleep(permission.ms, signal);
        signal.throwIfAborted();
    }
  }
}

function asFault(error: unknown): { fault: string } {
  if (error instanceof HaloError) return { fault: error.message };
  throw error;
}
