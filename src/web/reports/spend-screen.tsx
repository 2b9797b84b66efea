import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatUsd } from '../../core/budget.ts';
import type { CostGroup, CostReport } from '../../core/report/cost-report.ts';
import { QUALITY_GROUPS, type QualityReport, type QualitySum } from '../../core/report/quality-report.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { ChoiceOfOne, EmptyState, Figure, Problem, ShareBar } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { BarChart } from './bar-chart.tsx';
import { BudgetBars } from './budget-bars.tsx';
import { daysOf, formatDay, Period, startOf, type Days } from './period.tsx';

const GROUPS = [
  { value: 'user', name: 'Person' },
  { value: 'repo', name: 'Repository' },
  { value: 'agent', name: 'Agent' },
  { value: 'model', name: 'Model' },
  { value: 'day', name: 'Day' },
  { value: 'run', name: 'Run' },
] as const satisfies readonly { value: CostGroup; name: string }[];
type Group = (typeof GROUPS)[number]['value'];

/** What a period cost and what came of it: totals, budgets, days, and people, repositories, agents, models or runs. */
export function SpendScreen(): JSX.Element {
  const [by, setBy] = useState<Group>('user');
  const [days, setDays] = useState<Days>('7');
  const since = startOf(days, Date.now());
  const qualityBy = QUALITY_GROUPS.find((group) => group === by);
  const query = new URLSearchParams({ by, since }).toString();
  const parts = new URLSearchParams({ by: 'day,user', since }).toString();
  const quality = new URLSearchParams({ by: qualityBy ?? 'repo', since }).toString();
  const costs = useLoaded(query, () => readJson<CostReport>(`/v1/reports/costs?${query}`), true);
  const daily = useLoaded(parts, () => readJson<CostReport>(`/v1/reports/costs?${parts}`), true);
  const results = useLoaded(quality, () => readJson<QualityReport>(`/v1/reports/quality?${quality}`), true);
  const problem = costs.problem ?? daily.problem ?? results.problem;
  const report = costs.value?.by === by ? costs.value : undefined;
  return (
    <>
      <h1>Spend</h1>
      <div class="tools">
        <Period days={days} onChange={setDays} />
      </div>
      {problem !== undefined && <Problem problem={problem} />}
      {daily.value === undefined && problem === undefined && <EmptyState title="Reading the costs …" />}
      {daily.value !== undefined && <Totals daily={daily.value} total={results.value?.total} />}
      <BudgetBars />
      {daily.value !== undefined && <Daily days={days} report={daily.value} />}
      <div class="tools grouped">
        <ChoiceOfOne label="Group by" options={GROUPS} value={by} onChange={setBy} />
      </div>
      {report?.rows.length === 0 && (
        <EmptyState title="No costs in this period.">Only models that agents reach through halo have costs.</EmptyState>
      )}
      {report !== undefined && report.rows.length > 0 && (
        <CostTable by={by} report={report} quality={qualityBy === results.value?.by ? results.value : undefined} />
      )}
    </>
  );
}

function Totals({ daily, total }: { daily: CostReport; total: QualitySum | undefined }): JSX.Element {
  const people = useMemo(() => sumBy(daily, 1), [daily]);
  const [most] = [...people].filter(([, usd]) => usd > 0).sort(([, a], [, b]) => b - a);
  return (
    <dl class="figures">
      <Figure
        name="Cost"
        value={daily.total.runs === 0 ? formatUsd(0) : costText(daily.total.usage.costUsd)}
        more={`${daily.total.runs} ${daily.total.runs === 1 ? 'run' : 'runs'}`}
      />
      <Figure
        name="Spent most"
        value={most === undefined ? '-' : safeText(most[0])}
        {...(most !== undefined && { more: formatUsd(most[1]) })}
      />
      <Figure name="Landed" value={shareText(total?.landed, total)} {...moreOf(total, 'landed')} />
      <Figure
        name="Landed at first attempt"
        value={shareText(total?.firstPass, total)}
        {...moreOf(total, 'firstPass')}
      />
      <Figure name="Attempts per story" value={perStory(total)} />
      <Figure name="Cost per landed story" value={usdText(total?.costPerLanded)} {...costOf(total)} />
      <Figure name="Time to land (median)" value={minutesText(total?.minutesToLand)} />
    </dl>
  );
}

function moreOf(total: QualitySum | undefined, name: 'landed' | 'firstPass'): { more?: string } {
  return total === undefined || total.stories === 0
    ? {}
    : { more: `${total[name]} of ${total.stories} that landed or failed` };
}

/** How the cost per landed story is computed. */
function costOf(total: QualitySum | undefined): { more?: string } {
  if (total?.costPerLanded === undefined) return {};
  const { costPerLanded, landedMetered, landed } = total;
  const others = landed - landedMetered;
  const cost = `${formatUsd(costPerLanded * landedMetered)} for landed and failed stories / ${landedMetered} landed`;
  return { more: others === 0 ? cost : `${cost}; ${others} more not metered` };
}

function Daily({ days, report }: { days: Days; report: CostReport }): JSX.Element {
  const sums = sumBy(report, 0);
  const used = new Set(report.rows.map(({ keys }) => keys[0]));
  const bars = daysOf(days, Date.now()).map((key) => {
    const usd = sums.get(key);
    return { key, value: usd ?? 0, text: used.has(key) ? costText(usd) : formatUsd(0) };
  });
  const most = bars.reduce((a, b) => (b.value > a.value ? b : a), { key: '', value: 0, text: '' });
  const label =
    most.value === 0 ? 'No costs in this period' : `Cost by day; the most is ${most.text} on ${formatDay(most.key)}`;
  return (
    <section aria-label="Cost by day">
      <h2>
        Cost by day <span class="soft">{most.value > 0 && `at most ${most.text}`}</span>
      </h2>
      <BarChart label={label} bars={bars} />
    </section>
  );
}

/** The metered costs in USD by one of the groups of a report. */
function sumBy({ rows }: CostReport, at: number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { keys, usage } of rows) {
    const key = keys[at] ?? '-';
    if (usage.costUsd !== undefined) sums.set(key, (sums.get(key) ?? 0) + usage.costUsd);
  }
  return sums;
}

interface CostTableProps {
  by: Group;
  report: CostReport;
  quality: QualityReport | undefined;
}

function CostTable({ by, report, quality }: CostTableProps): JSX.Element {
  const most = Math.max(0, ...report.rows.map(({ usage }) => usage.costUsd ?? 0));
  const columns = ['Cost', 'Runs', 'Attempts', 'Input tokens', 'Output tokens'];
  const results = ['Landed', 'At first attempt', 'Attempts per story', 'Cost per landed', 'Time to land'];
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Costs">
      <table>
        <thead>
          <tr>
            {[GROUPS.find(({ value }) => value === by)?.name ?? by, ...columns, ...(quality ? results : [])].map(
              (name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {report.rows.map(({ key, runs, attempts, usage }) => {
            const sum = quality?.rows.find((row) => row.key === key);
            return (
              <tr key={key}>
                <th scope="row">
                  {by === 'run' ? <a href={`#/run/${key}`}>{key}</a> : safeText(key === '-' ? 'not known' : key)}
                </th>
                <td>
                  {costText(usage.costUsd)}
                  {usage.costUsd !== undefined && <ShareBar share={most === 0 ? 0 : usage.costUsd / most} />}
                </td>
                <td>{runs}</td>
                <td>{attempts}</td>
                <td>{usage.inputTokens.toLocaleString('en')}</td>
                <td>{usage.outputTokens.toLocaleString('en')}</td>
                {quality !== undefined && (
                  <>
                    <td>{sum === undefined ? '-' : `${sum.landed} of ${sum.stories}`}</td>
                    <td>{shareText(sum?.firstPass, sum)}</td>
                    <td>{perStory(sum)}</td>
                    <td>{usdText(sum?.costPerLanded)}</td>
                    <td>{minutesText(sum?.minutesToLand)}</td>
                  </>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function shareText(count: number | undefined, sum: QualitySum | undefined): string {
  return count === undefined || !sum?.stories ? '-' : `${Math.round((100 * count) / sum.stories)} %`;
}

function perStory(sum: QualitySum | undefined): string {
  return !sum?.stories ? '-' : (sum.attempts / sum.stories).toFixed(1);
}

/** A cost is metered only for models that have a price. */
function costText(costUsd: number | undefined): string {
  return costUsd === undefined ? 'not metered' : formatUsd(costUsd);
}

function usdText(usd: number | undefined): string {
  return usd === undefined ? '-' : formatUsd(usd);
}

function minutesText(minutes: number | undefined): string {
  return minutes === undefined ? '-' : formatElapsed(minutes * 60_000);
}
