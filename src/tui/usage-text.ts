import type { Usage } from '../core/agent.ts';
import { formatUsd } from '../core/budget.ts';

/**
 * Cost and tokens for people, e.g. `$0.12, 12.3k tokens in (4.0k cached), 678 out, 3 requests`; empty if there are
 * none.
 */
export function usageText(usage: Usage): string {
  if (usage.requests === 0) return '';
  const cached = usage.cachedTokens === 0 ? '' : ` (${count(usage.cachedTokens)} cached)`;
  const requests = `${usage.requests} ${usage.requests === 1 ? 'request' : 'requests'}`;
  const cost = usage.costUsd === undefined ? '' : `${formatUsd(usage.costUsd)}, `;
  return `${cost}${count(usage.inputTokens)} tokens in${cached}, ${count(usage.outputTokens)} out, ${requests}`;
}

function count(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(2)}M`;
}
