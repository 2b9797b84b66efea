import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatUsd } from '../../core/budget.ts';
import { COST_GROUPS, type CostGroup, type CostReport } from '../../core/report/cost-report.ts';
import type { ErrorGroup } from '../../core/report/error-report.ts';
import { EmptyState, Problem } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';

const PERIODS = [
  { name: 'today', days: 1 },
  { name: '7 days', days: 7 },
  { name: '30 days', days: 30 },
  { name: 'all', days: undefined },
] as const;
const DAY_MS = 86_400_000;

/** Costs of a period, by day, run, repository, person or model. */
export function SpendScreen(): JSX.Element {
  const [by, setBy] = useState<CostGroup>('day');
  const [days, setDays] = useState<number | undefined>(7);
  const query = new URLSearchParams({ by, ...since(days) }).toString();
  const { value, problem } = useLoaded(query, () => readJson<CostReport>(`/v1/reports/costs?${query}`));
  const most = Math.max(0, ...(value?.rows ?? []).map(({ usage }) => usage.costUsd ?? 0));
  return (
    <>
      <h1>Spend</h1>
      <div class="line">
        <label>
          By{' '}
          <select value={by} onChange={({ currentTarget }) => setBy(currentTarget.value as CostGroup)}>
            {COST_GROUPS.map((group) => (
              <option key={group}>{group}</option>
            ))}
          </select>
        </label>
        <Period days={days} onChange={setDays} />
        {value !== undefined && <strong>{formatUsd(value.total.usage.costUsd ?? 0)} in total</strong>}
      </div>
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <EmptyState title="Reading the costs …" />}
      {value?.rows.length === 0 && <EmptyState title="No attempts in this period." />}
      {value !== undefined && value.rows.length > 0 && (
        <div class="table" tabIndex={0} role="region" aria-label="Costs">
          <table>
            <thead>
              <tr>
                <th scope="col">{by}</th>
                <th scope="col">Cost</th>
                <th scope="col">Runs</th>
                <th scope="col">Attempts</th>
                <th scope="col">Input tokens</th>
                <th scope="col">Output tokens</th>
              </tr>
            </thead>
            <tbody>
              {value.rows.map(({ key, runs, attempts, usage }) => (
                <tr key={key}>
                  <th scope="row">{key}</th>
                  <td>
                    {usage.costUsd === undefined ? '-' : formatUsd(usage.costUsd)}
                    <progress max={most === 0 ? 1 : most} value={usage.costUsd ?? 0} aria-hidden="true" />
                  </td>
                  <td>{runs}</td>
                  <td>{attempts}</td>
                  <td>{usage.inputTokens.toLocaleString('en')}</td>
                  <td>{usage.outputTokens.toLocaleString('en')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** Failures of a period, grouped by their signature. */
export function FailuresScreen(): JSX.Element {
  const [days, setDays] = useState<number | undefined>(7);
  const query = new URLSearchParams(since(days)).toString();
  const { value, problem } = useLoaded(query, () => readJson<{ errors: ErrorGroup[] }>(`/v1/reports/errors?${query}`));
  return (
    <>
      <h1>Failures</h1>
      <Period days={days} onChange={setDays} />
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <EmptyState title="Reading the failures …" />}
      {value?.errors.length === 0 && <EmptyState title="No failures in this period." />}
      <ul class="runs">
        {value?.errors.map(({ signature, stopReason, count, runs, last, latest }) => (
          <li key={`${stopReason} ${signature}`} class="card">
            <div class="line">
              <span class="state bad">{stopReason}</span>
              <strong>{count} ×</strong>
              <span class="soft">last {last.slice(0, 16).replace('T', ' ')} UTC</span>
            </div>
            <p class="said">{latest.error}</p>
            <div class="line">
              {runs.slice(0, 10).map((runId) => (
                <a key={runId} href={`#/run/${runId}`}>
                  {runId}
                </a>
              ))}
              {runs.length > 10 && <span>and {runs.length - 10} others</span>}
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Period({
  days,
  onChange,
}: {
  days: number | undefined;
  onChange: (days: number | undefined) => void;
}): JSX.Element {
  return (
    <fieldset class="line">
      <legend class="hidden">Period</legend>
      {PERIODS.map((period) => (
        <label key={period.name}>
          <input type="radio" name="period" checked={period.days === days} onChange={() => onChange(period.days)} />{' '}
          {period.name}
        </label>
      ))}
    </fieldset>
  );
}

/** Whole hours, so that the same period has the same address for a while. */
function since(days: number | undefined): { since?: string } {
  if (days === undefined) return {};
  const hour = DAY_MS / 24;
  return { since: new Date(Math.floor(Date.now() / hour) * hour - days * DAY_MS).toISOString() };
}
