import type { JSX } from 'preact';
import type { RunView } from '../../api/operations/runs.ts';
import { formatUsd } from '../../core/budget.ts';
import { STOP_REASONS } from '../../core/failure/stop-reason.ts';
import { canRetry } from '../../core/run/actions.ts';
import { possibleSteps, toCommands, type NextStep } from '../../core/run/next-steps.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { inboxItems } from '../../view/inbox.ts';
import { ClockTime } from '../page/clock-time.tsx';
import { Command, CopyButton, ShellCommands } from '../page/copy-button.tsx';
import { LandAction } from '../review/land-action.tsx';
import { ActionButton, mayDo, type Person } from '../page/page-parts.tsx';
import { ACTION_KEYS } from '../../view/action-keys.ts';
import { runPath } from '../page/read-server.ts';
import { runFacts, type FactKind, type Fact as ShownFact } from '../../view/facts.ts';
import { runWords, storyCount } from '../../view/run-words.ts';
import { cellOf } from '../../view/story-words.ts';
import { whyRunWaits } from '../../view/waiting.ts';

interface RunHeaderProps {
  run: RunState;
  /** Absent until it is loaded. */
  view: RunView | undefined;
  now: string;
  person: Person;
}

/** Facts that the page shows in another form. */
const ELSEWHERE: readonly FactKind[] = ['project', 'waiting', 'used', 'pull', 'moved'];

/** Steps that buttons or sections of the page replace. */
const ON_PAGE: readonly NextStep['do'][] = [
  ...(['answer', 'approve', 'diff', 'land', 'logs', 'reject', 'resume', 'watch'] as const),
];

function isOnPage(step: NextStep): boolean {
  return ON_PAGE.includes(step.do) || (step.do === 'retry' && step.set === undefined);
}

/** What a run is, how it stands, and what a person can do. */
export function RunHeader({ run, view, now, person }: RunHeaderProps): JSX.Element {
  const heldBy = view?.heldBy;
  const engines = view?.engines;
  const words = runWords({ ...run, ...(heldBy !== undefined && { heldBy }), ...(engines && { engines }) });
  const waits = view === undefined ? [] : whyRunWaits({ ...view, state: run });
  const facts = runFacts({ ...view, state: run }, now).filter(({ kind }) => !ELSEWHERE.includes(kind));
  const steps =
    run.status === 'ended' ? possibleSteps(run, view?.moved !== undefined).filter((step) => !isOnPage(step)) : [];
  return (
    <div class="run-head">
      <div class="run-title">
        <h1>{run.project === '' ? run.runId : safeLine(run.project)}</h1>
        <span class={`badge ${words.tone}`}>{cellOf(words).text}</span>
        <RunActions run={run} person={person} />
      </div>
      <dl class="facts">
        <Fact name="Stories">{storyCount(run)}</Fact>
        {run.usage.costUsd !== undefined && <Fact name="Cost">{formatUsd(run.usage.costUsd)}</Fact>}
        <Fact name={run.startedAt === undefined ? 'Submitted' : 'Started'}>
          <ClockTime at={run.startedAt ?? run.createdAt} date />
        </Fact>
        {run.endedAt !== undefined && (
          <Fact name="Ended">
            <ClockTime at={run.endedAt} date />
          </Fact>
        )}
        <FactRows facts={facts} branch={`halo/${run.runId}`} />
        <Fact name="Run">
          <code>{run.runId}</code> <CopyButton text={run.runId} name="the run id" />
        </Fact>
      </dl>
      {run.stopReason !== undefined && hasOwnReason(run) && (
        <p class="stop-reason">
          {STOP_REASONS[run.stopReason].meaning}
          {run.detail !== undefined && <span class="soft"> {safeText(run.detail)}</span>}
        </p>
      )}
      {waits.map((why) => (
        <p key={why} class="warn">
          {why}
        </p>
      ))}
      {toCommands(steps.slice(0, 2)).map(({ command, why }) => (
        <p key={command} class="soft">
          Next: <Command line={command}>{why}</Command>
        </p>
      ))}
      <ShellCommands steps={shellSteps(run, person, view?.moved !== undefined)} />
    </div>
  );
}

/** The commands of what the page offers. */
function shellSteps(run: RunState, person: Person, hasMoved: boolean): Omit<NextStep, 'why'>[] {
  const { runId, paused, status } = run;
  const looks: Omit<NextStep, 'why'>[] = [
    { do: 'diff', runId },
    { do: status === 'ended' ? 'logs' : 'watch', runId },
  ];
  if (!mayDo(person, 'control', run.user)) return looks;
  const stops = (['pause', 'cancel'] as const).filter((each) => each === 'cancel' || paused === undefined);
  return [
    ...possibleSteps(run, hasMoved),
    ...looks,
    ...(status === 'ended' ? [] : stops.map((each) => ({ do: each, runId }))),
  ];
}

/** Whether its end says more than the failures of its stories below. */
function hasOwnReason({ status, stopReason, stories }: RunState): boolean {
  if (status !== 'ended' || stopReason === 'SUCCESS') return false;
  return stopReason === 'CIRCUIT_OPEN' || !stories.some(({ progress }) => progress === 'failed');
}

/** Facts about a story. */
export function FactList({ facts }: { facts: readonly ShownFact[] }): JSX.Element | null {
  if (facts.length === 0) return null;
  return (
    <dl class="facts">
      <FactRows facts={facts} />
    </dl>
  );
}

/** `branch`: of the commits, to be copied. */
export function FactRows({ facts, branch }: { facts: readonly ShownFact[]; branch?: string }): JSX.Element {
  return (
    <>
      {facts.map(({ kind, label, value, tone = 'plain' }) => (
        <Fact key={`${label} ${value}`} name={label.replace(/^./, (first) => first.toUpperCase())}>
          <span class={tone}>{value}</span>
          {branch !== undefined && (kind === 'branch' || kind === 'commits') && (
            <>
              {' '}
              <CopyButton text={branch} name="the branch" />
            </>
          )}
        </Fact>
      ))}
    </>
  );
}

function Fact({ name, children }: { name: string; children: JSX.Element['props']['children'] }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RunActions({ run, person }: { run: RunState; person: Person }): JSX.Element {
  const { runId, pull } = run;
  const to = (name: string) => runPath(runId, `/${name}`);
  const mayControl = mayDo(person, 'control', run.user);
  const isOpen = run.status !== 'ended';
  const isLandable = inboxItems(run, [run]).some(({ kind }) => kind === 'land');
  return (
    <div class="run-actions">
      <a class="button" href={`#/run/${runId}/diff`}>
        Review
      </a>
      {pull !== undefined && /^https?:\/\//.test(pull.url) && (
        <a class="button" href={pull.url} rel="noreferrer noopener">
          Pull request {pull.number}
        </a>
      )}
      {isLandable && mayDo(person, 'operate') && <LandAction run={run} />}
      {!isOpen && canRetry(run) === true && mayControl && (
        <ActionButton label="Retry" doing="Retrying" shortcut={ACTION_KEYS.retry} path={to('retry')} />
      )}
      {isOpen && mayControl && (
        <>
          {run.paused === undefined ? (
            <ActionButton
              label="Pause"
              doing="Pausing"
              shortcut={ACTION_KEYS.pause}
              path={to('pause')}
              body={{ now: false }}
            />
          ) : (
            <ActionButton label="Resume" doing="Resuming" shortcut={ACTION_KEYS.pause} path={to('resume')} />
          )}
          <ActionButton
            label="Cancel"
            doing="Cancelling"
            shortcut={ACTION_KEYS.cancel}
            tone="bad"
            path={to('cancel')}
            question={`Cancel run ${runId}?\nNothing of it lands afterwards.`}
          />
        </>
      )}
    </div>
  );
}
