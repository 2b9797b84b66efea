import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListedRun } from '../../../api/runs/limited-runs.ts';
import type { CostGroup, CostReport, CostRow } from '../core/cost-report.ts';
import type { QualityReport, QualitySum } from '../core/quality-report.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { formatCount } from '../../../core/text/format-count.ts';
import { Problem, ShareBar } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded, type Loaded } from '../../../web/page/read-server.ts';
import { attemptsText, costText, groupText, minutesText, shareText, usdText } from './cost-words.ts';

/** What the table can show, and of which groups the parts of each row are. */
export const SPEND_GROUPS = {
  user: { name: 'Person', parts: ['repo', 'model'] },
  repo: { name: 'Repository', parts: ['user', 'model'] },
  agent: { name: 'Agent', parts: ['repo', 'model'] },
  model: { name: 'Model', parts: ['user', 'repo'] },
  day: { name: 'Day', parts: ['user', 'repo'] },
  run: { name: 'Run', parts: ['model'] },
} as const satisfies Partial<Record<CostGroup, { name: string; parts: readonly CostGroup[] }>>;
export type SpendGroup = keyof typeof SPEND_GROUPS;

const COSTS = ['Cost', 'Runs', 'Attempts', 'Input tokens', 'Output tokens'];
const RESULTS = ['Passed', 'At first attempt', 'Attempts per story', 'Cost per passed story', 'Time to pass'];

interface CostTableProps {
  by: SpendGroup;
  /** The start of the period of `report`. */
  since: string;
  /** Grouped by `by`, and by more for runs. */
  report: CostReport;
  quality: QualityReport | undefined;
  /** Called when the first row opens: the parts are read then, so the rows have to be read again. */
  onOpen: () => void;
  /** Known runs, for their projects. */
  runs: readonly ListedRun[];
}

/** Costs and results by one group. Each row opens to its parts, which are read when the first row opens. */
export function CostTable({ by, since, report, quality, onOpen, runs }: CostTableProps): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const query =
    open.size === 0 ? '' : new URLSearchParams({ by: [by, ...SPEND_GROUPS[by].parts].join(','), since }).toString();
  const parts = useLoaded(query, async () =>
    query === '' ? undefined : await readJson<CostReport>(`/v1/reports/costs?${query}`),
  );
  const most = Math.max(0, ...report.rows.map(({ usage }) => usage.costUsd ?? 0));
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
    if (open.size === 0) onOpen();
  };
  const costs = by === 'run' ? COSTS.filter((name) => name !== 'Runs') : COSTS;
  const columns = [by === 'day' ? 'Day (UTC)' : SPEND_GROUPS[by].name, ...costs, ...(quality ? RESULTS : [])];
  return (
    <div class="table costs" tabIndex={0} role="region" aria-label="Costs">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {report.rows.map((row) => {
          const [key = '-'] = row.keys;
          const isOpen = open.has(key);
          const run = by === 'run' ? runs.find(({ runId }) => runId === key) : undefined;
          return (
            <tbody key={key}>
              <tr>
                <th scope="row">
                  <RowName by={by} keys={row.keys} run={run} isOpen={isOpen} onToggle={() => toggle(key)} />
                </th>
                <CostCells by={by} row={row} most={most} />
                {quality !== undefined && <ResultCells sum={quality.rows.find((each) => each.key === key)} />}
              </tr>
              {isOpen && <Parts by={by} of={key} parts={parts} most={most} columns={columns.length} />}
            </tbody>
          );
        })}
      </table>
    </div>
  );
}

interface RowNameProps {
  by: SpendGroup;
  keys: readonly string[];
  run: ListedRun | undefined;
  isOpen: boolean;
  onToggle: () => void;
}

function RowName({ by, keys: [key = '-', ...facts], run, isOpen, onToggle }: RowNameProps): JSX.Element {
  if (by !== 'run')
    return (
      <button type="button" class="toggle" aria-expanded={isOpen} onClick={onToggle}>
        {groupText(by, key)}
      </button>
    );
  const name = run === undefined || run.project === '' ? key : safeLine(run.project);
  return (
    <div class="run-name">
      <button type="button" class="toggle" aria-expanded={isOpen} aria-label={`Parts of ${name}`} onClick={onToggle} />
      <a href={`#/run/${key}`}>{name}</a>
      <span class="soft">
        {facts.map((fact) => (
          <span key={fact}>{groupText('user', fact)}</span>
        ))}
        {name !== key && <code>{key}</code>}
      </span>
    </div>
  );
}

interface PartsProps {
  by: SpendGroup;
  /** The value of the group whose parts these are. */
  of: string;
  parts: Loaded<CostReport | undefined>;
  most: number;
  columns: number;
}

function Parts({ by, of, parts: { value, problem }, most, columns }: PartsProps): JSX.Element {
  if (value === undefined)
    return (
      <tr class="part">
        <td colSpan={columns}>{problem === undefined ? 'Reading the costs …' : <Problem problem={problem} />}</td>
      </tr>
    );
  const groups = SPEND_GROUPS[by].parts;
  return (
    <>
      {value.rows
        .filter(({ keys }) => keys[0] === of)
        .map((row) => (
          <tr key={row.key} class="part">
            <th scope="row">
              {groups.map((group, index) => (
                <span key={group} class={index === 0 ? '' : 'soft'}>
                  {groupText(group, row.keys[index + 1] ?? '-')}{' '}
                </span>
              ))}
            </th>
            <CostCells by={by} row={row} most={most} />
            {columns > COSTS.length + 1 && <td colSpan={RESULTS.length} />}
          </tr>
        ))}
    </>
  );
}

interface CostCellsProps {
  by: SpendGroup;
  row: CostRow;
  /** The cost whose bar is full. */
  most: number;
}

function CostCells({ by, row: { runs, attempts, usage }, most }: CostCellsProps): JSX.Element {
  return (
    <>
      <td>
        {costText(usage.costUsd)}
        {usage.costUsd !== undefined && <ShareBar share={most === 0 ? 0 : usage.costUsd / most} />}
      </td>
      {by !== 'run' && <td>{runs}</td>}
      <td>{attempts}</td>
      <td title={usage.inputTokens.toLocaleString('en')}>{formatCount(usage.inputTokens)}</td>
      <td title={usage.outputTokens.toLocaleString('en')}>{formatCount(usage.outputTokens)}</td>
    </>
  );
}

function ResultCells({ sum }: { sum: QualitySum | undefined }): JSX.Element {
  return (
    <>
      <td>{sum === undefined ? '-' : `${sum.landed} of ${sum.stories}`}</td>
      <td>{shareText(sum?.firstPass, sum)}</td>
      <td>{attemptsText(sum)}</td>
      <td>{usdText(sum?.costPerLanded)}</td>
      <td>{minutesText(sum?.minutesToLand)}</td>
    </>
  );
}
