import type { BreakerPolicy } from '../core/failure/breaker.ts';
import { FAILURE_CLASSES, type ClassPolicy, type FailureClass, type RetryPolicy } from '../core/failure/failure.ts';
import type { HaloToml } from './schema/halo-toml.ts';

/** Converts `[retry]` to the policy in core. */
export function toRetryPolicy(retry: HaloToml['retry']): RetryPolicy {
  const classes = FAILURE_CLASSES.map((name): [FailureClass, ClassPolicy] => {
    const table: { rule: ClassPolicy['rule']; backoff?: number | undefined; retries?: number } = retry[name];
    return [name, { rule: table.rule, backoffMs: table.backoff, retries: table.retries ?? 0 }];
  });
  return {
    attempts: retry.attempts,
    backoffMs: retry.backoff,
    maxBackoffMs: retry.max_backoff,
    multiplier: retry.multiplier,
    jitter: retry.jitter,
    crashes: retry.crashes,
    classes: Object.fromEntries(classes) as Record<FailureClass, ClassPolicy>,
  };
}

/** Converts `[breaker]` to the policy in core. */
export function toBreakerPolicy(breaker: HaloToml['breaker']): BreakerPolicy {
  return {
    noChange: breaker.no_change,
    sameError: breaker.same_error,
    outputDecline: breaker.output_decline,
    permissionDenials: breaker.permission_denials,
    cooldownMs: breaker.cooldown,
  };
}
