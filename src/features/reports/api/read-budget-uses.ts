import { readHostFile } from '../../../config/host-rules.ts';
import { budgetOf } from '../../../core/budget.ts';
import { usesOf, type BudgetUse } from '../core/budget-report.ts';
import type { OperationContext } from '../../../api/operations/operation.ts';
import type { UnreadableRun } from '../../../api/runs/read-report-of.ts';
import { readCosts } from './read-reports.ts';

/**
 * The budgets of the day of `now` that config.toml of HALO_HOME sets, and what is spent of them according to the journals.
 * Throws CONFIG_INVALID.
 */
export async function readBudgetUses(
  { host, store }: Pick<OperationContext, 'host' | 'store'>,
  now: Date,
): Promise<{ day: string; budgets: BudgetUse[]; unreadable: UnreadableRun[] }> {
  const day = now.toISOString().slice(0, 10);
  const { budget } = (await readHostFile(host.home)).config;
  const limits = (['day', 'user', 'repository'] as const).map((scope) => budgetOf(budget, scope));
  if (limits.every(({ usd, tokens }) => usd === undefined && tokens === undefined))
    return { day, budgets: [], unreadable: [] };
  const { entries, unreadable } = await readCosts(store, { since: `${day}T00:00:00.000Z` });
  return { day, budgets: usesOf(entries, budget), unreadable };
}
