import type { Usage } from '../../../src/core/agent.ts';

/** What a replay repeats of a usage: it costs nothing. */
export function withoutCost(usage: Usage): Usage {
  const free = { ...usage };
  delete free.costUsd;
  return free;
}
