import type { JSX } from 'preact';
import type { ErrorGroup } from '../../core/report/error-report.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { Elapsed, EmptyState, Problem } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { storyAddress } from '../run/stories/story-words.ts';
import { Period, startOf, usePeriod } from './period.tsx';

const MAX_RUNS = 10;

/** Failures of a period, grouped by their signature. */
export function FailuresScreen({ now }: { now: string }): JSX.Element {
  const [days, setDays] = usePeriod();
  const query = new URLSearchParams({ since: startOf(days, Date.now()) }).toString();
  const { value, problem } = useLoaded(query, () => readJson<{ errors: ErrorGroup[] }>(`/v1/reports/errors?${query}`));
  return (
    <>
      <h1>Failures</h1>
      <div class="tools">
        <Period days={days} onChange={setDays} />
      </div>
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <EmptyState title="Reading the failures …" />}
      {value?.errors.length === 0 && <EmptyState title="No failures in this period." />}
      <ul class="runs">
        {value?.errors.map(({ signature, stopReason, class: failureClass, count, runs, last, latest }) => (
          <li key={`${stopReason} ${signature}`} class="card">
            <div class="line">
              <strong class="times">{count} ×</strong>
              <span class="state bad">{stopReason}</span>
              {failureClass !== undefined && <span class="soft">{failureClass}</span>}
              <span class="soft">
                last <Elapsed from={last} now={now} /> ago, {last.slice(0, 16).replace('T', ' ')} UTC
              </span>
              <a href={storyAddress(latest.runId, latest.story, latest.attempt)}>
                {safeText(latest.story)}, attempt {latest.attempt}
              </a>
            </div>
            <p class="said">{safeText(latest.error)}</p>
            <div class="line">
              <span class="soft">
                {runs.length} {runs.length === 1 ? 'run' : 'runs'}
              </span>
              {runs.slice(0, MAX_RUNS).map((runId) => (
                <a key={runId} href={`#/run/${runId}`}>
                  {runId}
                </a>
              ))}
              {runs.length > MAX_RUNS && <span>and {runs.length - MAX_RUNS} others</span>}
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}
