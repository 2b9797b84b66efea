import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ListedRun } from '../../../api/runs/limited-runs.ts';
import { formatUsd } from '../../../core/budget.ts';
import type { CostReport } from '../core/cost-report.ts';
import { QUALITY_GROUPS, type QualityReport, type QualitySum } from '../core/quality-report.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import { useAddressChoice } from '../../../web/page/address-query.ts';
import { formatUtcDay } from '../../../web/page/clock-time.tsx';
import { ChoiceOfOne, EmptyState, Figure, Problem } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded } from '../../../web/page/read-server.ts';
import { BarChart } from './bar-chart.tsx';
import { BudgetBars } from './budget-bars.tsx';
import { CostTable, SPEND_GROUPS, type SpendGroup } from './cost-table.tsx';
import { attemptsText, costText, minutesText, shareText, usdText } from './cost-words.ts';
import { daysOf, Period, startOf, usePeriod, type Days } from './period.tsx';

const GROUP_NAMES = Object.keys(SPEND_GROUPS) as SpendGroup[];
const GROUPS = GROUP_NAMES.map((value) => ({ value, name: SPEND_GROUPS[value].name }));

/** What a period cost and what came of it: totals, budgets, days, and people, repositories, agents, models or runs. */
export function SpendScreen({ runs }: { runs: readonly ListedRun[] }): JSX.Element {
  const [by, setBy] = useAddressChoice('by', GROUP_NAMES, 'user');
  const [days, setDays] = usePeriod();
  const since = startOf(days, Date.now());
  const qualityBy = QUALITY_GROUPS.find((group) => group === by);
  // A run has one person and one repository, so these groups only name them.
  const groups = by === 'run' ? 'run,user,repo' : by;
  const [reads, setReads] = useState(0);
  const costs = useReport<CostReport>('costs', groups, since, reads);
  const daily = useReport<CostReport>('costs', 'day,user', since, reads);
  const results = useReport<QualityReport>('quality', qualityBy ?? 'repo', since, reads);
  const problem = costs.problem ?? daily.problem ?? results.problem;
  const report = costs.value?.by === groups ? costs.value : undefined;
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
        <CostTable
          key={`${by} ${report.since}`}
          {...{ by, report, runs }}
          since={report.since}
          quality={qualityBy === results.value?.by && results.value?.since === report.since ? results.value : undefined}
          onOpen={() => setReads((count) => count + 1)}
        />
      )}
    </>
  );
}

/** A report with the start of its period. The one before is shown until it is read. */
function useReport<T extends object>(name: string, by: string, since: string, reads: number) {
  const query = new URLSearchParams({ by, since }).toString();
  return useLoaded(
    `${name} ${query} ${reads}`,
    async () => ({ ...(await readJson<T>(`/v1/reports/${name}?${query}`)), since }),
    true,
  );
}

function Totals({ daily, total }: { daily: CostReport; total: QualitySum | undefined }): JSX.Element {
  const people = useMemo(() => sumBy(daily, 1), [daily]);
  const [most] = [...people].filter(([, usd]) => usd > 0).sort(([, a], [, b]) => b - a);
  return (
    <dl class="figures six">
      <Figure name="Cost" {...costFigure(daily.total, total)} />
      <Figure
        name="Spent most"
        value={most === undefined ? '-' : safeText(most[0])}
        {...(most !== undefined && { more: formatUsd(most[1]) })}
      />
      <Figure name="Passed" value={shareText(total?.landed, total)} {...landedOf(total)} />
      <Figure name="Passed at first attempt" value={shareText(total?.firstPass, total)} {...attemptsOf(total)} />
      <Figure name="Cost per passed story" value={usdText(total?.costPerLanded)} {...costOf(total)} />
      <Figure name="Time to pass (median)" value={minutesText(total?.minutesToLand)} />
    </dl>
  );
}

/** Costs are only of runs whose agents used a model through halo; the other figures are of all runs. */
function costFigure({ runs, usage }: CostReport['total'], results: QualitySum | undefined) {
  if (runs > 0) return { value: costText(usage.costUsd), more: `${runs} ${runs === 1 ? 'run' : 'runs'} with a model` };
  const isMetered = !results?.stories;
  return { value: isMetered ? formatUsd(0) : costText(undefined), more: 'no run used a model through halo' };
}

function landedOf(total: QualitySum | undefined): { more?: string } {
  return total?.stories ? { more: `${total.landed} of ${total.stories} that passed or failed` } : {};
}

function attemptsOf(total: QualitySum | undefined): { more?: string } {
  return total?.stories
    ? { more: `${total.firstPass} of ${total.stories}; ${attemptsText(total)} attempts per story` }
    : {};
}

/** How the cost per passed story is computed. */
function costOf(total: QualitySum | undefined): { more?: string } {
  if (total?.costPerLanded === undefined) return {};
  const { costPerLanded, landedMetered, landed } = total;
  const others = landed - landedMetered;
  const cost = `${formatUsd(costPerLanded * landedMetered)} with failed stories / ${landedMetered} passed`;
  return { more: others === 0 ? cost : `${cost}; ${others} not metered` };
}

function Daily({ days, report }: { days: Days; report: CostReport }): JSX.Element {
  const sums = sumBy(report, 0);
  const used = new Set(report.rows.map(({ keys }) => keys[0]));
  const bars = daysOf(days, Date.now()).map((key) => {
    const usd = sums.get(key);
    return { key, value: usd ?? 0, text: used.has(key) ? costText(usd) : formatUsd(0) };
  });
  const most = bars.reduce((a, b) => (b.value > a.value ? b : a), { key: '', value: 0, text: '' });
  const texts = bars.filter(({ key }) => used.has(key)).map(({ key, text }) => `${formatUtcDay(key, false)}: ${text}`);
  const label = texts.length === 0 ? 'No costs in this period' : `Cost by day; ${texts.join('; ')}`;
  return (
    <section aria-label="Cost by day">
      <h2>
        Cost by day <span class="soft">UTC{most.value > 0 && `; at most ${most.text}`}</span>
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
