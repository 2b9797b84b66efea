import { ACTION_KEYS } from '../../view/action-keys.ts';
import { INBOX, inboxLabel, inboxSteps, outageItem, type InboxAction } from '../../view/inbox.ts';
import type { JSX } from 'preact';
import type { BreakerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { RunDecisionResult, StoryDecisionResult } from '../../core/run/control-result.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { hasLeftWork, questionLines } from '../../core/run/questions.ts';
import type { StoryState } from '../../core/run/state.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { Age } from '../page/clock-time.tsx';
import { ActionButton } from '../page/page-parts.tsx';
import { ShellCommands } from '../page/copy-button.tsx';

import { runPath } from '../page/read-server.ts';
import {
  askAboutFlags,
  askToReject,
  confirmationOf,
  describeApproval,
  flaggedOf,
  questionOf,
} from '../review/review-actions.tsx';
import { LandAction } from '../review/land-action.tsx';
import { AnswerForm } from './answer-form.tsx';
import type { InboxEntry } from './inbox-entries.ts';

interface EntryProps {
  entry: InboxEntry;
  now: string;
  /** Says what was done. */
  onDone: (text: string, run?: ListedRun) => void;
}

/** Something that waits for a decision, with its actions for people who may decide it. */
export function EntryCard({ entry, now, onDone }: EntryProps): JSX.Element {
  if (entry.of === 'all') return <BreakerCard entry={entry} onDone={onDone} />;
  if (entry.of === 'engine') return <OutageCard entry={entry} now={now} />;
  const { run, kind, story, canDecide, waitsFor } = entry;
  const since = story?.endedAt ?? run.endedAt;
  const { branch, source } = run.repo;
  const diff = `#/run/${run.runId}/diff${story === undefined ? '' : `/${encodeURIComponent(story.id)}`}`;
  const isStop = INBOX[kind].sign === '!';
  const isToReview = inboxSteps(entry, run).some((step) => step.do === 'diff');
  const hasDiff = !isStop && (story === undefined || isToReview || hasLeftWork(story));
  const options = story?.question?.options ?? [];
  // The options are buttons.
  const limits = story === undefined ? [] : questionLines(story).slice(options.length);
  const text = kind === 'answer' ? [story?.summary ?? '', ...limits].join('\n') : entry.text;
  return (
    <li class="card entry" tabIndex={0} data-entry={entry.key}>
      <div class="line">
        <span class="state warn">{inboxLabel(kind)}</span>
        <a class="title" href={`#/run/${run.runId}`}>
          {run.project === '' ? run.runId : safeLine(run.project)}
        </a>
        {story !== undefined && (
          <span>
            <b>{safeLine(story.id)}</b> {safeLine(story.title)}
          </span>
        )}
      </div>
      <div class="line soft">
        <code>{run.runId}</code>
        <span>
          {safeLine(source)}
          {branch !== undefined && <>, branch {safeLine(branch)}</>}
        </span>
        <span>{safeLine(run.user)}</span>
        {since !== undefined && (
          <span>
            <Age at={since} now={now} />
          </span>
        )}
      </div>
      <p class="said">{safeText(text)}</p>
      {kind === 'budget' && (
        <p class="soft">
          Raise the budget that it names, or wait for the next day (UTC) if it is a budget of the day. Then retry.
        </p>
      )}
      <div class="actions">
        {hasDiff && <a href={diff}>Review the diff</a>}
        {canDecide ? (
          <EntryActions entry={entry} onDone={onDone} />
        ) : (
          <span class="soft">Waits for {safeLine(waitsFor, 100)}.</span>
        )}
      </div>
      {canDecide && <ShellCommands steps={inboxSteps(entry, run)} />}
    </li>
  );
}

interface BreakerProps {
  entry: { key: string; breaker: BreakerView; canDecide: boolean };
  onDone: EntryProps['onDone'];
}

function BreakerCard({ entry: { key: entryKey, breaker, canDecide }, onDone }: BreakerProps): JSX.Element {
  const { key, status, reason } = breaker;
  return (
    <li class="card entry" tabIndex={0} data-entry={entryKey}>
      <div class="line">
        <span class="state warn">{inboxLabel('breaker')}</span> <b>{safeLine(breakerName(key), 100)}</b> is {status}
      </div>
      <p class="said">{safeText(reason)}</p>
      <div class="actions">
        {canDecide ? (
          <ActionButton
            label={INBOX.breaker.button}
            doing={INBOX.breaker.doing}
            shortcut={ACTION_KEYS.reset}
            path="/v1/breakers/reset"
            body={{ key }}
            onDone={() => onDone('The breaker is closed. What waited for it continues.')}
          />
        ) : (
          <span class="soft">Waits for an operator.</span>
        )}
      </div>
    </li>
  );
}

function OutageCard({ entry: { key, outage }, now }: { entry: InboxEntry & { of: 'engine' }; now: string }) {
  const { kind, text, command } = outageItem(outage);
  return (
    <li class="card entry" tabIndex={0} data-entry={key}>
      <div class="line">
        <span class="state warn">{inboxLabel(kind)}</span> <b>{safeLine(outage.engine, 100)}</b>
        <span class="soft">
          <Age at={outage.since} now={now} />
        </span>
      </div>
      <p class="said">{safeText(text)}</p>
      <p class="soft">
        On the machine of the server, <code>{command}</code> says why.
      </p>
    </li>
  );
}

interface ActionsProps {
  entry: InboxEntry & { of: 'run' };
  onDone: EntryProps['onDone'];
}

/** What the person may do about the item. */
function EntryActions(props: ActionsProps): JSX.Element | null {
  return ACTIONS[INBOX[props.entry.kind].action](props);
}

const ACTIONS: Record<InboxAction, (props: ActionsProps) => JSX.Element | null> = {
  answer: ({ entry: { run, story }, onDone }) =>
    story === undefined ? null : (
      <AnswerForm
        path={pathOf(run, 'answer')}
        story={story.id}
        question={`${run.runId} ${story.id} ${story.attempts}`}
        options={story.question?.options ?? []}
        onDone={() => onDone(`Answered ${safeLine(story.id)}. The run continues.`, run)}
      />
    ),
  decide: ({ entry: { run, kind, story }, onDone }) => {
    const flagged = flaggedOf(run, story);
    return (
      <>
        <ActionButton
          label={INBOX[kind].button}
          doing={INBOX[kind].doing}
          shortcut={ACTION_KEYS.approve}
          tone="good"
          path={pathOf(run, 'approve')}
          body={{ ...bodyOf(story), ...confirmationOf(flagged) }}
          {...questionOf([askAboutFlags(story?.id ?? `the result of run ${run.runId}`, 'Approve', flagged)])}
          where={run.repo.source}
          onDone={(result) => onDone(describeApproval(result as StoryDecisionResult | RunDecisionResult), run)}
        />
        <ActionButton
          label="Reject"
          doing="Rejecting"
          shortcut={ACTION_KEYS.reject}
          tone="bad"
          path={pathOf(run, 'reject')}
          body={bodyOf(story)}
          question={askToReject(run.runId, story?.id, story?.held?.commit)}
          onDone={() => onDone(`Rejected ${story === undefined ? 'the result of the run' : safeLine(story.id)}.`, run)}
        />
      </>
    );
  },
  land: ({ entry: { run, story }, onDone }) => (
    <LandAction run={run} story={story} where={run.repo.source} onDone={(text) => onDone(text, run)} />
  ),
  retry: ({ entry: { run, kind, story }, onDone }) => (
    <ActionButton
      label={INBOX[kind].button}
      doing={INBOX[kind].doing}
      shortcut={ACTION_KEYS.retry}
      path={pathOf(run, 'retry')}
      body={bodyOf(story)}
      onDone={() => onDone('The run continues with fresh attempts.', run)}
    />
  ),
  reset: ({ entry: { run, kind }, onDone }) => (
    <ActionButton
      label={INBOX[kind].button}
      doing={INBOX[kind].doing}
      shortcut={ACTION_KEYS.reset}
      path="/v1/breakers/reset"
      body={{ key: `run:${run.runId}` }}
      onDone={() => onDone('The breaker is closed. The run continues.', run)}
    />
  ),
};

function pathOf({ runId }: ListedRun, action: string): string {
  return runPath(runId, `/${action}`);
}

function bodyOf(story: StoryState | undefined): { story?: string } {
  return story === undefined ? {} : { story: story.id };
}
