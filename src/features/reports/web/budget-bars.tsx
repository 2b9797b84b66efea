import type { JSX } from 'preact';
import { formatUsd } from '../../../core/budget.ts';
import { WARN_SHARE, type BudgetUse } from '../core/budget-report.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import { ShareBar } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded } from '../../../web/page/read-server.ts';

const MAX_SHOWN = 12;

/** What is spent today of the budgets of the server. Nothing without budgets, and for people who may not see all runs. */
export function BudgetBars(): JSX.Element | null {
  const { value } = useLoaded('budgets', () => readJson<{ budgets: BudgetUse[] }>('/v1/reports/budgets'));
  if (value === undefined || value.budgets.length === 0) return null;
  const shown = value.budgets.slice(0, MAX_SHOWN);
  return (
    <section aria-label="Budgets of today">
      <h2>
        Budgets of today <span class="soft">UTC; halo warns at {WARN_SHARE * 100} %</span>
      </h2>
      <ul class="budgets">
        {shown.map((use) => {
          const share = use.limit === 0 ? 1 : use.spent / use.limit;
          const tone = share >= 1 ? 'bad' : share >= WARN_SHARE ? 'warn' : 'good';
          return (
            <li key={`${use.scope} ${use.name ?? ''} ${use.unit}`}>
              <div class="line">
                <strong>{nameOf(use)}</strong>
                <span class={tone === 'good' ? 'soft' : tone}>
                  {amountOf(use, use.spent)} of {amountOf(use, use.limit)}, {Math.floor(share * 100)} %
                </span>
              </div>
              <span class="marked">
                <ShareBar share={share} tone={tone} />
              </span>
            </li>
          );
        })}
      </ul>
      {value.budgets.length > shown.length && (
        <p class="soft">and {value.budgets.length - shown.length} that are less full</p>
      )}
    </section>
  );
}

function nameOf({ scope, name = '' }: BudgetUse): string {
  return scope === 'day' ? 'All runs' : safeText(name);
}

function amountOf({ unit }: BudgetUse, amount: number): string {
  return unit === 'usd' ? formatUsd(amount) : `${amount.toLocaleString('en')} tokens`;
}
