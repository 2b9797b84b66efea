import type { JSX } from 'preact';
import type { ErrorGroup } from '../core/error-report.ts';
import { plainReason, reasonWords } from '../../../core/failure/plain-reason.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import { Age, ClockTime } from '../../../web/page/clock-time.tsx';
import { EmptyState, Problem } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded, storyAddress } from '../../../web/page/read-server.ts';
import { Period, startOf, usePeriod } from './period.tsx';

const MAX_STORIES = 10;

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
        {value?.errors.map((group) => (
          <FailureCard
            key={`${group.latest.runId} ${group.latest.story} ${group.latest.attempt}`}
            {...{ group, now }}
          />
        ))}
      </ul>
    </>
  );
}

function FailureCard({ group, now }: { group: ErrorGroup; now: string }): JSX.Element {
  const { stopReason, count, stories, last, latest, tests } = group;
  return (
    <li class="card">
      <div class="line">
        <strong class="times">{count} ×</strong>
        <span class="state bad">{reasonWords(plainReason(stopReason, group))}</span>
        <span class="soft">
          last <Age at={last} now={now} />
        </span>
      </div>
      <p class="said">{safeText(latest.error)}</p>
      {tests !== undefined && <p class="said">Failed tests: {tests.map((name) => safeLine(name)).join(', ')}</p>}
      <ul class="failed-stories" aria-label="Stories">
        {stories.slice(0, MAX_STORIES).map(({ runId, project, repo, user, story, title, attempt, at }) => (
          <li key={`${runId} ${story}`} class="line">
            <a href={storyAddress(runId, story, attempt)}>
              {safeText(story)}, attempt {attempt}
            </a>
            <span>{safeLine(title)}</span>
            <a href={`#/run/${runId}`}>{project === '' ? runId : safeLine(project)}</a>
            {user !== undefined && <span>{safeLine(user)}</span>}
            <span class="soft">{safeLine(repo)}</span>
            {at !== last && (
              <span class="soft">
                <ClockTime at={at} date />
              </span>
            )}
          </li>
        ))}
      </ul>
      {stories.length > MAX_STORIES && <p class="soft">and {stories.length - MAX_STORIES} other stories</p>}
    </li>
  );
}
