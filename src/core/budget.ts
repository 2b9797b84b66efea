/**
 * The scope of a budget: one story with all its attempts, one run, or all runs of a day: of a user, of a repository, or of
 * the whole HALO_HOME.
 */
export const BUDGET_SCOPES = ['story', 'run', 'user', 'repository', 'day'] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** The maximum that may be spent. */
export interface BudgetLimit {
  usd?: number | undefined;
  tokens?: number | undefined;
}
/** `[budget]` of the configuration. */
export type Budget = Readonly<Partial<Record<`${BudgetScope}Usd` | `${BudgetScope}Tokens`, number | undefined>>>;

export function budgetOf(budget: Budget, scope: BudgetScope): BudgetLimit {
  return { usd: budget[`${scope}Usd`], tokens: budget[`${scope}Tokens`] };
}

/** An amount spent or reserved; money in millionths of a USD, so that sums are exact. */
export interface Charge {
  microUsd: number;
  tokens: number;
}

export const NO_CHARGE: Charge = { microUsd: 0, tokens: 0 };

export function addCharges(a: Charge, b: Charge): Charge {
  return { microUsd: a.microUsd + b.microUsd, tokens: a.tokens + b.tokens };
}

/** A budget that a request would exceed. Amounts are millionths of a USD, or tokens. */
export interface Overrun {
  scope: BudgetScope;
  unit: keyof BudgetLimit;
  limit: number;
  spent: number;
  /** Reserved for requests in progress. */
  reserved: number;
  /** The minimum that the request needs; 0: there is no request, the budget is overdrawn. */
  needed: number;
}

/** A share of a budget has been spent. Amounts are millionths of a USD, or tokens. */
export interface BudgetWarning {
  scope: BudgetScope;
  unit: keyof BudgetLimit;
  limit: number;
  spent: number;
}

/** How a budget is called in sentences. */
const NAMES: Record<BudgetScope, string> = {
  story: "this story's budget",
  run: "this run's budget",
  user: "this user's budget of the day (UTC)",
  repository: "this repository's budget of the day (UTC)",
  day: "today's budget (UTC)",
};

/** Describes a warning, as in `81 % of this run's budget is spent: $4.05 of $5.00`. */
export function describeWarning({ scope, unit, limit, spent }: BudgetWarning): string {
  const amount = (value: number) => (unit === 'usd' ? formatUsd(value / 1e6) : value.toLocaleString('en-US'));
  const share = limit === 0 ? 100 : Math.floor((100 * spent) / limit);
  const tokens = unit === 'usd' ? '' : ' tokens';
  return `${share} % of ${NAMES[scope]} is spent: ${amount(spent)} of ${amount(limit)}${tokens}`;
}

/** The setting of a budget. */
export function budgetKey({ scope, unit }: Pick<Overrun, 'scope' | 'unit'>): `budget.${string}` {
  return `budget.${scope}_${unit}`;
}

/** Describes which budget is exhausted or overdrawn, by how much, and how to raise it. */
export function describeOverrun({ scope, unit, limit, spent, reserved, needed }: Overrun): string {
  const number = (value: number) => (unit === 'usd' ? formatUsd(value / 1e6) : value.toLocaleString('en-US'));
  const amount = (value: number) => `${number(value)}${unit === 'usd' ? '' : ' tokens'}`;
  const budget = NAMES[scope];
  if (needed === 0) {
    return (
      `The provider counted ${amount(spent)}, more than ${budget} of ${number(limit)}; ` +
      `raise ${budgetKey({ scope, unit })} to continue.`
    );
  }
  const left = amount(Math.max(0, limit - spent - reserved));
  const reservedText = reserved > 0 ? `, ${amount(reserved)} reserved for other requests` : '';
  return (
    `The next request may ${unit === 'usd' ? 'cost' : 'take'} up to ${amount(needed)}, more than what is left of ` +
    `${budget} (${left} of ${number(limit)}${reservedText}); raise ${budgetKey({ scope, unit })} to continue.`
  );
}

/** Formats USD with cents, half a cent rounded up, and with more digits for amounts below 10 cents. */
export function formatUsd(usd: number): string {
  if (usd !== 0 && usd < 0.1) return `$${usd.toPrecision(2)}`;
  // In binary, half a cent can be slightly less. Costs are metered in millionths of a USD.
  return `$${(Math.round(usd * 100 + 1e-6) / 100).toFixed(2)}`;
}
