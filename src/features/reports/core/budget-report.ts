import { budgetOf, type Budget, type BudgetLimit } from '../../../core/budget.ts';
import type { AttemptCost } from './cost-report.ts';

/** What of a budget of the day is spent. Money in USD. */
export interface BudgetUse {
  scope: 'day' | 'user' | 'repository';
  /** The user or the repository; absent for the budget of the whole home. */
  name?: string;
  unit: keyof BudgetLimit;
  limit: number;
  spent: number;
}

/** At this share of a budget, halo warns. */
export const WARN_SHARE = 0.8;

/** The budgets of a day and what the attempts of that day have spent of them, the fullest first. */
export function usesOf(costs: readonly AttemptCost[], budget: Budget): BudgetUse[] {
  const uses = [
    ...usesOfScope('day', budgetOf(budget, 'day'), new Map([[undefined, costs]])),
    ...usesOfScope('user', budgetOf(budget, 'user'), groupBy(costs, 'user')),
    ...usesOfScope('repository', budgetOf(budget, 'repository'), groupBy(costs, 'repo')),
  ];
  return uses.sort((a, b) => b.spent / b.limit - a.spent / a.limit);
}

function usesOfScope(
  scope: BudgetUse['scope'],
  { usd, tokens }: BudgetLimit,
  groups: ReadonlyMap<string | undefined, readonly AttemptCost[]>,
): BudgetUse[] {
  return [...groups].flatMap(([name, costs]) => {
    const of = { scope, ...(name !== undefined && { name }) };
    const spentUsd = costs.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0);
    const spentTokens = costs.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0);
    return [
      ...(usd === undefined ? [] : [{ ...of, unit: 'usd' as const, limit: usd, spent: spentUsd }]),
      ...(tokens === undefined ? [] : [{ ...of, unit: 'tokens' as const, limit: tokens, spent: spentTokens }]),
    ];
  });
}

/** Without attempts of which the user is not known. */
function groupBy(costs: readonly AttemptCost[], key: 'user' | 'repo'): Map<string, AttemptCost[]> {
  const groups = new Map<string, AttemptCost[]>();
  for (const cost of costs) {
    const name = cost[key];
    if (name !== undefined) groups.set(name, [...(groups.get(name) ?? []), cost]);
  }
  return groups;
}
