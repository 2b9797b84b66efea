import { formatUsd } from '../../../core/budget.ts';
import type { CostGroup } from '../core/cost-report.ts';
import type { QualitySum } from '../core/quality-report.ts';
import { formatElapsed } from '../../../core/text/format-elapsed.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import { formatUtcDay } from '../../../web/page/clock-time.tsx';

export function shareText(count: number | undefined, sum: QualitySum | undefined): string {
  return count === undefined || !sum?.stories ? '-' : `${Math.round((100 * count) / sum.stories)} %`;
}

export function attemptsText(sum: QualitySum | undefined): string {
  return !sum?.stories ? '-' : (sum.attempts / sum.stories).toFixed(1);
}

/** A cost is metered only for models that have a price. */
export function costText(costUsd: number | undefined): string {
  return costUsd === undefined ? 'not metered' : formatUsd(costUsd);
}

export function usdText(usd: number | undefined): string {
  return usd === undefined ? '-' : formatUsd(usd);
}

export function minutesText(minutes: number | undefined): string {
  return minutes === undefined ? '-' : formatElapsed(minutes * 60_000);
}

/** The value of a group of a report. */
export function groupText(group: CostGroup, key: string): string {
  if (key === '-') return 'not known';
  return group === 'day' ? formatUtcDay(key) : safeText(key);
}
