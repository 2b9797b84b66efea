import type { JSX } from 'preact';
import type { Artifact } from '../../../core/journal/event-parts.ts';
import { formatUsd } from '../../../core/budget.ts';
import { formatElapsed } from '../../../core/text/format-elapsed.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { ClockTime } from '../../page/clock-time.tsx';
import { EmptyState, Problem } from '../../page/page-parts.tsx';
import { CopyButton } from '../../page/copy-button.tsx';
import { readJson, runPath, useLoaded, storyAddress } from '../../page/read-server.ts';
import { attemptMs } from '../../../core/journal/attempts.ts';
import { networkOf } from '../run-journal.ts';
import { FactRows } from '../run-header.tsx';
import { FailureDetails } from '../failures.tsx';
import { JournalLog } from '../log/journal-log.tsx';
import { FileLog } from '../log/file-log.tsx';
import { Waterfall } from '../waterfall.tsx';
import type { AttemptViewProps } from './attempt-props.ts';
import { AttemptDiff, AttemptPrompt, GateLogs } from './attempt-files.tsx';
import { NetworkRows, sumUsage, UsageTable } from './attempt-tables.tsx';
import { attemptWords, isReplied } from '../../../view/attempt-words.ts';
import { startRows } from '../../../view/facts.ts';

const TABS = [
  { name: 'summary', text: 'Summary' },
  { name: 'log', text: 'Gates' },
  { name: 'agent', text: 'Agent log' },
  { name: 'prompt', text: 'Prompt' },
  { name: 'diff', text: 'Diff' },
  { name: 'network', text: 'Network' },
  { name: 'usage', text: 'Usage' },
  { name: 'cassette', text: 'Cassette' },
] as const;

const STDERR = 'agent.stderr.log';

/** One attempt: its tabs, and the content of one of them. */
export function AttemptView(props: AttemptViewProps): JSX.Element {
  const { journal, run, attempt, part, view } = props;
  const [tab = 'summary', ...rest] = part;
  // The folder has a hash that only the server computes.
  const key = view?.state.stories.find(({ id }) => id === attempt.story)?.key;
  const folder = key === undefined ? undefined : `${key}/${attempt.attempt}`;
  const steps = `${attempt.commands.length} ${attempt.phases.length} ${attempt.end?.at}`;
  const { value, problem } = useLoaded(`${run.runId} ${folder} ${steps}`, async () =>
    folder === undefined ? undefined : await readJson<{ artifacts: Artifact[] }>(runPath(run.runId, '/artifacts')),
  );
  const has = (name: string) => value?.artifacts.some(({ path }) => path === `${folder}/${name}`) === true;
  const address = storyAddress(run.runId, attempt.story, attempt.attempt);
  const line = Number(/^L(\d+)$/.exec(rest.at(-1) ?? '')?.[1] ?? NaN);
  const at = Number.isNaN(line) ? undefined : line;
  const files = { folder, has, address, line: at };
  return (
    <>
      <nav class="tabs" aria-label="Attempt">
        {TABS.filter(({ name }) => name !== 'cassette' || has('cassette.jsonl')).map(({ name, text }) => (
          <a
            key={name}
            href={name === 'summary' ? address : `${address}/${name}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {problem !== undefined && <Problem problem={problem} />}
      {tab === 'summary' && <Summary {...props} />}
      {tab === 'log' && <GateLogs {...props} {...files} chosen={rest[0]} />}
      {tab === 'agent' && has(STDERR) && (
        <p>
          {rest[0] === 'stderr' ? (
            <a href={`${address}/agent`}>Log of the attempt</a>
          ) : (
            <a href={`${address}/agent/stderr`}>stderr of the agent</a>
          )}
        </p>
      )}
      {tab === 'agent' && rest[0] === 'stderr' && folder !== undefined && (
        <FileLog
          runId={run.runId}
          path={`${folder}/${STDERR}`}
          label="stderr of the agent"
          href={`${address}/agent/stderr`}
          line={at}
          isLive={attempt.end === undefined && run.status !== 'ended'}
        />
      )}
      {tab === 'agent' && rest[0] !== 'stderr' && (
        <JournalLog
          journal={journal}
          version={props.version}
          runId={run.runId}
          only={attempt}
          seq={undefined}
          label={`Log of attempt ${attempt.attempt}`}
        />
      )}
      {tab === 'prompt' && <AttemptPrompt {...props} {...files} />}
      {tab === 'diff' && <AttemptDiff {...props} {...files} />}
      {tab === 'network' && <NetworkRows rows={networkOf(attempt)} />}
      {tab === 'usage' && <UsageTable rows={attempt.usage} />}
      {tab === 'cassette' && folder !== undefined && (
        <>
          <p class="soft">
            Model traffic, one request a line. <code>halo replay {run.runId}</code> repeats it.
          </p>
          <FileLog
            runId={run.runId}
            path={`${folder}/cassette.jsonl`}
            label="Cassette"
            href={`${address}/cassette`}
            line={at}
            kind="data"
          />
        </>
      )}
      {!TABS.some(({ name }) => name === tab) && <EmptyState title="There is no such part of an attempt." />}
    </>
  );
}

function Summary({ run, attempt, now }: AttemptViewProps): JSX.Element {
  const isOpen = run.status !== 'ended';
  const { mark, tone, text } = attemptWords(attempt, isOpen);
  const { end, agent } = attempt;
  const usage = sumUsage(attempt.usage);
  const isFailed = end !== undefined && end.verdict !== 'passed' && !isReplied(attempt);
  return (
    <>
      <dl class="facts card">
        <div>
          <dt>Verdict</dt>
          <dd class={`strong ${tone}`}>
            {mark} {text}
          </dd>
        </div>
        <div>
          <dt>Started</dt>
          <dd>
            <ClockTime at={attempt.startedAt} date />
          </dd>
        </div>
        {end !== undefined && (
          <div>
            <dt>Ended</dt>
            <dd>
              <ClockTime at={end.at} />
            </dd>
          </div>
        )}
        <div>
          <dt>Time</dt>
          <dd>{end === undefined && !isOpen ? '–' : formatElapsed(attemptMs(attempt, end?.at ?? now))}</dd>
        </div>
        {agent !== undefined && (
          <div>
            <dt>Agent</dt>
            <dd>
              {safeLine([agent.agent, ...(agent.version === undefined ? [] : [agent.version])].join(' '))}{' '}
              {agent.model !== undefined && <span class="soft">{safeLine(agent.model)}</span>}
            </dd>
          </div>
        )}
        <FactRows facts={startRows(attempt)} />
        {usage.costUsd !== undefined && (
          <div>
            <dt>Cost</dt>
            <dd>{formatUsd(usage.costUsd)}</dd>
          </div>
        )}
        {end?.commit !== undefined && (
          <div>
            <dt>Commit</dt>
            <dd>
              <code>{safeLine(end.commit).slice(0, 10)}</code> <CopyButton text={end.commit} name="the commit" />
            </dd>
          </div>
        )}
      </dl>
      {isFailed && (
        <section class="failures" aria-label="Failure">
          <div class="failure">
            <FailureDetails attempt={attempt} />
          </div>
        </section>
      )}
      {end !== undefined && !isFailed && end.summary !== '' && <p class="said">{safeLine(end.summary, 2_000)}</p>}
      <h2>Phases</h2>
      <Waterfall runId={run.runId} attempts={[attempt]} now={now} isOpen={isOpen} />
    </>
  );
}
