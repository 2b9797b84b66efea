import type { JSX } from 'preact';
import { addUsage, NO_USAGE, type Usage } from '../../../core/agent.ts';
import { formatUsd } from '../../../core/budget.ts';
import type { NetworkRow } from '../../../core/journal/network-report.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { EmptyState } from '../../page/page-parts.tsx';

type ModelUsage = { model?: string; usage: Usage };

const count = (value: number) => value.toLocaleString('en');

/** The usage of all models. */
export function sumUsage(rows: readonly ModelUsage[]): Usage {
  return rows.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
}

/** Tokens and costs by model. */
export function UsageTable({ rows }: { rows: readonly ModelUsage[] }): JSX.Element {
  if (rows.length === 0) return <EmptyState title="No model was used." />;
  const all = [...rows, ...(rows.length > 1 ? [{ model: 'All', usage: sumUsage(rows) }] : [])];
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Usage">
      <table>
        <thead>
          <tr>
            {['Model', 'Requests', 'Input', 'Cached', 'Output', 'Cost'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map(({ model, usage }, index) => (
            <tr key={index}>
              <th scope="row">{safeLine(model ?? 'unknown')}</th>
              <td>{count(usage.requests)}</td>
              <td>{count(usage.inputTokens)}</td>
              <td>{count(usage.cachedTokens)}</td>
              <td>{count(usage.outputTokens)}</td>
              <td>{usage.costUsd === undefined ? '–' : formatUsd(usage.costUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const TONES = { served: 'good', refused: 'bad', failed: 'warn' };
const MARKS = { served: '✓', refused: '✗', failed: '!' };

/** Requests of setup and the agent, the refused ones first. */
export function NetworkRows({ rows }: { rows: readonly NetworkRow[] }): JSX.Element {
  if (rows.length === 0) return <EmptyState title="It sent no request." />;
  const sorted = [...rows].sort((a, b) => Number(a.outcome === 'served') - Number(b.outcome === 'served'));
  return (
    <div class="table network" tabIndex={0} role="region" aria-label="Network">
      <table>
        <thead>
          <tr>
            {['Request', 'Phase', 'Result', 'Count', 'Bytes'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map(({ phase, method, target, outcome, status, reason, bytes, count: times }, index) => (
            <tr key={index}>
              <th scope="row">
                <code>
                  {safeLine(method)} {safeLine(target, 300)}
                </code>
                {reason !== undefined && <div class="soft">{safeLine(reason, 300)}</div>}
              </th>
              <td>{phase}</td>
              <td class={TONES[outcome]}>
                {MARKS[outcome]} {outcome} {status}
              </td>
              <td>{count(times)}</td>
              <td>{count(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
