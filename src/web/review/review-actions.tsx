import { ACTION_KEYS } from '../../view/action-keys.ts';
import type { JSX } from 'preact';
import type { RequestedPull } from '../../core/pulls/pull-state.ts';
import type { LandedRun, RunDecisionResult, StoryDecisionResult } from '../../core/run/control-result.ts';
import {
  flagsOf,
  landingChanges,
  listFlags,
  type Change,
  type Confirmation,
  type Flag,
} from '../../core/review/flags.ts';
import { canOpenPull, canSendBack } from '../../core/run/actions.ts';
import type { NextStep } from '../../core/run/next-steps.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { inboxItems } from '../../view/inbox.ts';
import { ActionButton, mayDo, type Person } from '../page/page-parts.tsx';
import { runPath } from '../page/read-server.ts';
import { toSent, type UnsentComment } from './review-state.ts';

/** What a person may decide about a run or story now. */
interface Decisions {
  decide: boolean;
  sendBack: boolean;
  land: boolean;
  requestPull: boolean;
}

/** A run whose diff is empty has nothing for a pull request. */
export function decisionsOf(
  person: Person,
  run: RunState | undefined,
  story: StoryState | undefined,
  hasChange: boolean,
): Decisions {
  if (run === undefined || !mayDo(person, 'operate'))
    return { decide: false, sendBack: false, land: false, requestPull: false };
  const isOfRun = story === undefined || run.stories.length === 1;
  const ofRun = inboxItems(run, []).filter((item) => item.story === undefined);
  return {
    decide: story === undefined ? ofRun.some(({ kind }) => kind === 'approval') : story.held !== undefined,
    sendBack: story !== undefined && canSendBack(run, story) === true,
    land: isOfRun && ofRun.some(({ kind }) => kind === 'land'),
    requestPull: hasChange && isOfRun && mayHavePull(run),
  };
}

/** The commands of what the review offers. */
export function shellSteps(runId: string, story: string | undefined, decisions: Decisions): Omit<NextStep, 'why'>[] {
  const of = { runId, ...(story !== undefined && { story }) };
  const { decide, sendBack, land, requestPull } = decisions;
  return [
    { do: 'diff', ...of },
    ...(decide ? (['approve', 'reject'] as const).map((each) => ({ do: each, ...of })) : []),
    ...(sendBack ? [{ do: 'send back', ...of } as const] : []),
    ...(land ? [{ do: 'land', runId } as const] : []),
    ...(requestPull ? [{ do: 'pull', runId } as const] : []),
  ];
}

/** Whether the commits of a run could be merged by a pull request. The server knows whether it has a forge. */
function mayHavePull(run: RunState): boolean {
  return run.status === 'ended' && run.pull === undefined && canOpenPull(run) === true;
}

interface ReviewActionsProps {
  runId: string;
  story: string | undefined;
  decisions: Decisions;
  commit: string | undefined;
  flagged: Flagged;
  /** The number of comments that were not sent. */
  unsent: number;
  /** The button that lands the run, if it can land. */
  land: JSX.Element | undefined;
  /** Says what was done. */
  onResult: (text: string) => void;
}

/** The buttons that end a review. */
export function ReviewActions({
  runId,
  story,
  decisions,
  commit,
  flagged,
  unsent,
  land,
  onResult,
}: ReviewActionsProps): JSX.Element {
  const body = story === undefined ? {} : { story };
  const approval = askAboutFlags(story === undefined ? `the result of run ${runId}` : story, 'Approve', flagged);
  // A push publishes possible secrets; the pull request shows the rest.
  const published = { ...flagged, changes: flagged.changes.filter((each) => flagsOf([each]).includes('secret')) };
  return (
    <>
      {decisions.decide && (
        <>
          <ActionButton
            label="Approve"
            doing="Approving"
            shortcut={ACTION_KEYS.approve}
            tone="good"
            path={runPath(runId, '/approve')}
            body={{ ...body, ...confirmationOf(flagged) }}
            {...questionOf([approval, ...(unsent > 0 ? [askToApprove(unsent)] : [])])}
            onDone={(result) => onResult(describeApproval(result as StoryDecisionResult | RunDecisionResult))}
          />
          <ActionButton
            label="Reject"
            doing="Rejecting"
            shortcut={ACTION_KEYS.reject}
            tone="bad"
            path={runPath(runId, '/reject')}
            body={body}
            question={askToReject(runId, story, commit)}
            onDone={() => onResult(story === undefined ? 'The run is rejected.' : `${story} is rejected.`)}
          />
        </>
      )}
      {land}
      {decisions.requestPull && (
        <ActionButton
          label="Open pull request"
          doing="Opening"
          shortcut={ACTION_KEYS.pull}
          path={runPath(runId, '/pull')}
          body={confirmationOf(published)}
          {...questionOf([askAboutFlags(`run ${runId}`, 'Push', published)])}
          onDone={(result) => onResult(describePull(result as RequestedPull))}
        />
      )}
    </>
  );
}

/** What a decision concerns, as far as it may have flags. */
interface Flagged {
  changes: readonly Change[];
  commit: string | undefined;
}

/** What of a run or a story a decision confirms. */
export function flaggedOf(run: RunState, story: StoryState | undefined): Flagged {
  if (story?.held !== undefined) return { changes: [story], commit: story.held.commit };
  return { changes: landingChanges(run), commit: run.tip };
}

/** The part of a request that confirms what the question shows. */
export function confirmationOf({ changes, commit }: Flagged): Confirmation {
  const confirm = flagsOf(changes);
  return commit === undefined ? {} : { commit, ...(confirm.length > 0 && { confirm }) };
}

/** Names what a change is flagged for; undefined for nothing. The first line is the question. */
export function askAboutFlags(
  what: string,
  verb: 'Approve' | 'Land' | 'Push',
  { changes }: Flagged,
): string | undefined {
  const flags = listFlags(changes);
  if (flags.length === 0) return undefined;
  const lines = flags.map(({ flag, text }) => `${FLAG_NAMES[flag]}: ${safeText(text)}`);
  if (verb === 'Approve') lines.push(AFTER_APPROVAL);
  return [`${verb} ${safeText(what)} with what halo flags in it?`, ...lines].join('\n');
}

const AFTER_APPROVAL =
  'An approved commit is added to the branch of its run. Your branch moves only when the run lands.';

const FLAG_NAMES: Record<Flag, string> = {
  secret: 'Possible secret',
  hidden: 'Hidden characters',
  tests: 'Removed tests',
  protected: 'Protected paths',
  binary: 'Binary content',
};

/** Joins questions into one. */
export function questionOf(questions: readonly (string | undefined)[]): { question?: string } {
  const asked = questions.filter((each) => each !== undefined);
  return asked.length === 0 ? {} : { question: asked.join('\n') };
}

function askToApprove(unsent: number): string {
  const whose = unsent === 1 ? 'comment' : `${unsent} comments`;
  return `Approve without your ${whose}?\nYou have not sent ${unsent === 1 ? 'it' : 'them'}. To have the change improved instead, go back and send it back.`;
}

/** A landing cannot be taken back, with or without flags. */
export function askToLand(runId: string, flagged: Flagged): string {
  const plain = `Land run ${runId}?\nIts commits go on the branch of the repository.`;
  return askAboutFlags(`run ${runId}`, 'Land', flagged) ?? plain;
}

export function askToReject(runId: string, story: string | undefined, commit = ''): string {
  if (story === undefined)
    return `Reject the result of run ${runId}?\nIt cannot be landed then, and retention may remove the run.`;
  return [
    `Reject ${safeText(story)} and end the run?`,
    `Commit ${commit.slice(0, 7)} does not land, and run ${runId} ends with APPROVAL_DENIED. The commits on its branch stay.`,
    'To have it changed instead, go back, comment on it and send it back: the story starts again.',
  ].join('\n');
}

/** What an approval did. */
export function describeApproval(result: StoryDecisionResult | RunDecisionResult): string {
  if ('runId' in result)
    return result.landed === undefined
      ? 'The run is approved. It is not on your branch until it lands.'
      : `The run is approved. ${describeLanding(result.landed)}`;
  const { story, commit, landed } = result;
  return landed
    ? `${story} is approved: ${commit.slice(0, 7)} is on the branch of the run, and not on yours until the run lands.`
    : `${story} is approved. A worker merges ${commit.slice(0, 7)} onto the stories that passed in the meantime.`;
}

function describePull({ pull }: RequestedPull): string {
  return pull === undefined
    ? 'A worker pushes the branch and opens the pull request. The link appears here.'
    : `The run has the pull request ${pull.number} already.`;
}

/** Where the work of a run is now. */
export function describeLanding({ branch, to, pushedTo }: LandedRun): string {
  return `${branch} is at ${to.slice(0, 7)} now${pushedTo === undefined ? '' : `, pushed to ${pushedTo}`}.`;
}

interface SendBackProps {
  runId: string;
  story: string;
  comments: readonly UnsentComment[];
  message: string;
  shortcut?: string;
  /** Called instead of sending, if there is nothing to send. */
  onEmpty: (() => void) | undefined;
  onSent: () => void;
}

/** Starts the story again with the comments. */
export function SendBack({ runId, story, comments, message, shortcut, onEmpty, onSent }: SendBackProps): JSX.Element {
  if (onEmpty !== undefined)
    return (
      <button type="button" data-key={shortcut} aria-keyshortcuts={shortcut} onClick={onEmpty}>
        Send back
        {shortcut !== undefined && <kbd aria-hidden="true">{shortcut}</kbd>}
      </button>
    );
  const count = comments.length === 1 ? '1 comment' : `${comments.length} comments`;
  const text = message.trim();
  const what = comments.length === 0 ? 'your message' : count;
  return (
    <ActionButton
      label={`Send back with ${what}`}
      doing="Sending"
      {...(shortcut !== undefined && { shortcut })}
      path={runPath(runId, '/reject')}
      body={{
        story,
        ...(text !== '' && { feedback: text }),
        ...(comments.length > 0 && { comments: toSent(comments) }),
      }}
      onDone={onSent}
    />
  );
}
