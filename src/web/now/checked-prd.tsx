import type { JSX } from 'preact';
import { formatUsd } from '../../core/budget.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { Percentiles, PrdEstimate } from '../../core/report/estimate.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { Problem } from '../page/page-parts.tsx';
import type { RequestFailed } from '../page/read-server.ts';
import { useAnswer, type TypedPrd } from './typed-prd.ts';

/** The stories of a valid PRD, with its warnings. */
export function CheckedPrd({ prd: { dialect, stories, warnings } }: { prd: Prd }): JSX.Element {
  return (
    <section aria-label="Stories of the PRD">
      <h2>
        {stories.length} {stories.length === 1 ? 'story' : 'stories'} <span class="soft">{dialect}</span>
      </h2>
      {warnings.map((warning) => (
        <p key={warning} class="said warn">
          {warning}
        </p>
      ))}
      <ul class="rows">
        {stories.map(({ id, title, status, acceptance }) => (
          <li key={id}>
            <b>{id}</b> {title} <span class="soft">{status}</span>
            {acceptance.length === 0 && <span class="warn"> no acceptance criteria</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PrdProblemsProps {
  problem: RequestFailed;
  /** Shows a line of the text, from 1. */
  onLine: (line: number) => void;
}

/** Why a PRD is refused; each problem leads to its line. */
export function PrdProblems({ problem, onLine }: PrdProblemsProps): JSX.Element {
  if (problem.problems.length === 0) return <Problem problem={problem} />;
  return (
    <div class="notice bad prd-problems" role="alert">
      <ul>
        {problem.problems.map(({ line, where, rule }, index) => (
          <li key={index}>
            <button type="button" class="link" onClick={() => onLine(line)}>
              Line {line}
            </button>{' '}
            {where !== '' && <code>{safeText(where)}</code>} {safeText(rule)}
          </li>
        ))}
      </ul>
      {problem.hint !== undefined && <p>{problem.hint}</p>}
    </div>
  );
}

interface EstimateProps {
  prd: TypedPrd;
  repo: string;
}

/** What the open stories of a PRD will probably cost in a repository, and how long they take. */
export function RepoEstimate({ prd, repo }: EstimateProps): JSX.Element {
  const { value, problem } = useAnswer<PrdEstimate>('/v1/prds/estimate', { prd, repo });
  return (
    <section aria-label={`Estimate for ${repo}`}>
      <h2>
        Estimate <span class="soft">{safeText(repo)}</span>
      </h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <p class="soft">Reading earlier runs …</p>}
      {value !== undefined && <EstimateTable estimate={value} />}
    </section>
  );
}

function EstimateTable({ estimate: { stories, basis, costUsd, minutes, notes } }: { estimate: PrdEstimate }) {
  const rows: [string, Percentiles | undefined, (value: number) => string][] = [
    ['Cost', costUsd?.sum, formatUsd],
    ['Time', minutes?.sum, (value) => formatElapsed(value * 60_000)],
  ];
  return (
    <>
      {minutes !== undefined && (
        <div class="table" tabIndex={0} role="region" aria-label="Estimated cost and time">
          <table>
            <thead>
              <tr>
                <th scope="col">
                  {stories} open, from {basis.stories} earlier stories
                </th>
                <th scope="col">Low (10 %)</th>
                <th scope="col">Median</th>
                <th scope="col">High (90 %)</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(
                ([name, range, format]) =>
                  range !== undefined && (
                    <tr key={name}>
                      <th scope="row">{name}</th>
                      <td>{format(range.low)}</td>
                      <td>{format(range.median)}</td>
                      <td>{format(range.high)}</td>
                    </tr>
                  ),
              )}
            </tbody>
          </table>
        </div>
      )}
      {notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
    </>
  );
}
