import type { Usage } from '../core/agent.ts';
import { formatUsd } from '../core/budget.ts';
import { formatCount } from '../core/text/format-count.ts';

/**
 * Cost and tokens for people, e.g. `$0.12, 12.3k tokens in (4.0k cached), 678 out, 3 requests`; empty if there are
 * none.
 */
export function usageText(usage: Usage): string {
  if (usage.requests === 0) return '';
  const cached = usage.cachedTokens === 0 ? '' : ` (${formatCount(usage.cachedTokens)} cached)`;
  const requests = `${usage.requests} ${usage.requests === 1 ? 'request' : 'requests'}`;
  const cost = usage.costUsd === undefined ? '' : `${formatUsd(usage.costUsd)}, `;
  return `${cost}${formatCount(usage.inputTokens)} tokens in${cached}, ${formatCount(usage.outputTokens)} out, ${requests}`;
}

/** The cost for a table; `-` if no price is known. */
export function costText({ costUsd }: { costUsd?: number | undefined }): string {
  return costUsd === undefined ? '-' : formatUsd(costUsd);
}
