import type { Usage } from '../agent.ts';
import { breakerName, resetCommand, type Breaker } from '../failure/breaker.ts';
import { retryName, type FailureClass, type RetryRule } from '../failure/failure.ts';
import { isAgentFault, plainReason } from '../failure/plain-reason.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { IssueStatus } from '../issues/issue-source.ts';
import type { Feedback } from '../review/feedback.ts';
import { PROGRESS, askOf } from '../run/progress.ts';
import type { ShownHow } from '../run/messages.ts';
import { UNANSWERED, type AskedQuestion, type Unanswered } from '../run/questions.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { safeLine } from '../text/safe-text.ts';
import { LINE_LENGTH, SAID_LINES, continuationLines, headLines, shortCommit } from '../transcript/excerpt.ts';
import type { StoryLine } from '../transcript/transcript-line.ts';
import type { AttemptRef, HeldCommit, Judged } from './event-parts.ts';
import { byUser, logCommand, type EventRows } from './event-row.ts';
import { describeStart, type StartFacts } from './start-facts.ts';

/** What becomes of a story, and what people decide about it. */
export interface StoryEvents {
  /** `image`: the id of the image. */
  'story.started': {
    epoch: number;
    base: string;
    image?: string;
    /** The process that started it, as lib/process-identity.ts names it. */
    worker?: string;
    /** How long it was ready before a worker started it; absent if it was not queued, or the clock of the queue was reset. */
    queuedMs?: number;
    /** The worker that started it earlier crashed. */
    workerDied?: true;
  } & StartFacts &
    AttemptRef;
  'story.ended': {
    stopReason: StopReason;
    summary: string;
    usage: Usage;
    /** The landed commit, if the verdict is passed. */
    commit?: string;
    /** A worker had landed the commit and died; the next one found it. */
    recovered?: true;
    /** In a dry run: the summary describes the change. */
    described?: true;
    /** The commit that an approval would land. */
    held?: HeldCommit;
    /** The commit with what the agent left when it asked a question. */
    left?: string;
    question?: AskedQuestion;
    /** Paths in conflict with another story that landed first; the attempt is not counted. */
    conflicts?: string[];
  } & Judged &
    AttemptRef;
  /** An infrastructure failure interrupted the attempt: no verdict on the story. */
  'story.disturbed': { class: FailureClass; stopReason: StopReason; summary: string } & AttemptRef;
  /** Its worker shut down cleanly during the attempt: not a failure. */
  'story.returned': AttemptRef;
  /** The failed attempt will be retried, as the `nth` retry of at most `of`, not before a time (ISO 8601). */
  'retry.scheduled': {
    class: FailureClass;
    rule: RetryRule;
    nth: number;
    of: number;
    notBefore: string;
    why: string;
  } & AttemptRef;
  /**
   * The model of the attempt allows no request before a time (ISO 8601), at which the attempt begins again. Not a failure.
   * `by`: its provider requested a pause, or the configured rate is reached. `left`: the provider of this agent failed, and
   * another agent begins the attempt again. `session`: its agent could not continue its session, and begins a new one.
   */
  'story.postponed': {
    model: string;
    by: 'provider' | 'rate' | 'session';
    why: string;
    notBefore: string;
    left?: string;
  } & AttemptRef;
  /** A shared breaker is open: the attempt waits until a time (ISO 8601) and asks again. */
  'breaker.held': { key: string; why: string; notBefore: string } & AttemptRef;
  /** The attempt changed a shared breaker: it opened it, is its trial (`half-open`), or closed it. `why`: if it opened it. */
  'breaker.changed': { key: string; status: Breaker['status']; why?: string } & AttemptRef;
  /** Other stories passed first: `commit` was merged onto `onto` as `merged`, whose gates run again. */
  'story.merged': { commit: string; onto: string; merged: string } & AttemptRef;
  /** A commit landed, but its proof could not be attached as a note. */
  'note.failed': { commit: string; reason: string } & AttemptRef;
  /** A user approved a commit, which landed. */
  'story.approved': { commit: string; by: string } & AttemptRef;
  /** A user approved a commit that is behind the tip of the run: a worker merges it, runs its gates again and lands it. */
  'approval.given': { commit: string; by: string } & AttemptRef;
  /** A user rejected a commit. */
  'story.rejected': { commit: string; reason: string; by: string } & AttemptRef;
  /** A user sent a commit back: the story is started again with the feedback. */
  'feedback.given': Feedback & AttemptRef;
  /** A user answered the question with which the attempt ended; the story is started again. */
  'story.answered': {
    text: string;
    by: string;
    /** The option that was chosen, from 1. */
    option?: number;
    /** It was not answered in time: `by` is `halo`. */
    default?: true;
  } & AttemptRef;
  /** A user sent a message to the agent of the story; `attempt`: the latest one then. */
  'message.sent': { id: string; text: string; by: string } & AttemptRef;
  /** An agent was shown messages, which have these ids: while it worked, or in its prompt. */
  'message.delivered': { ids: string[]; how: ShownHow } & AttemptRef;
  /** The question was not answered in time: the story fails, or is left out. */
  'question.expired': { then: Exclude<Unanswered, 'first-option'>; by: string } & AttemptRef;
  /** A user cancelled the story; or its issue was withdrawn: then `by` is the project of the issue, and `why` a sentence. */
  'story.cancelled': { by: string; why?: string } & AttemptRef;
  /** Before an attempt: the issue of the story was edited, or could not be read. The attempt uses the submitted text. */
  'issue.noted': { found: 'edited' | 'unread'; why: string } & AttemptRef;
  /** The issue of the story shows this status, or was closed. */
  'issue.reported': { status: IssueStatus | 'closed' } & AttemptRef;
  /** A user opened a copy of a state of the attempt: a shell, or for this command. */
  'debug.opened': { point: 'agent' | 'gates'; by: string; command?: string } & AttemptRef;
  /** It was removed. `exitCode`: of the command; absent if it was stopped, and for a shell. */
  'debug.closed': { by: string; ms: number; exitCode?: number } & AttemptRef;
  /** A user's command stopped the attempt: no verdict. `usage`: the usage until then. */
  'story.stopped': { usage: Usage } & AttemptRef;
}

export const STORY_EVENTS: EventRows<StoryEvents> = {
  'story.started': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const again = event.workerDied ? ' again, because its worker died' : '';
      const how = describeStart(event).map(({ phrase }) => `, ${phrase}`);
      const text = `attempt ${event.attempt}${again}, on ${shortCommit(event.base)}${how.join('')}`;
      return [{ label: 'story', tone: 'strong', text }];
    },
  },
  'story.ended': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event, how) => {
      const { word, tone } = PROGRESS[event.verdict];
      const unchanged =
        event.verdict === 'passed'
          ? event.described
            ? 'described'
            : 'no change needed'
          : plainReason(event.stopReason, event.failure);
      const said = askOf({ progress: event.verdict }) === undefined ? `${unchanged}  ` : '';
      const what = event.commit === undefined ? said : `${shortCommit(event.commit)}  `;
      const [first = '', ...rest] = headLines(event.summary, SAID_LINES);
      const more =
        event.verdict === 'failed' && isAgentFault(event.stopReason, event.failure) && how.runId !== undefined
          ? [`its stderr: ${logCommand(how.runId, event, '--stderr')}`]
          : [];
      return [
        { label: 'story', tone, text: `${word.toUpperCase()}  ${what}${first}`.trimEnd() },
        ...continuationLines(rest, 'plain', ''),
        ...continuationLines(more, 'quiet', '  '),
      ];
    },
  },
  'story.disturbed': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const [first = '', ...rest] = headLines(event.summary, SAID_LINES);
      const lead: StoryLine = {
        label: 'story',
        tone: 'warn',
        text: `INTERRUPTED  ${plainReason(event.stopReason, undefined)}  ${first}`,
      };
      return [lead, ...continuationLines(rest, 'plain', '')];
    },
  },
  'story.returned': {
    is: ['changes'],
    lines: () => [{ label: 'story', tone: 'quiet', text: 'handed back: its worker is stopping' }],
  },
  'retry.scheduled': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const wait = msBetween(event.at, event.notBefore);
      // The label already says "retry".
      const count = retryName(event).replace(/^retry /, '');
      const when = wait > 0 ? `${count} in ${formatElapsed(wait)}` : 'now';
      const text = `${when}: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'retry', tone: 'warn', text }];
    },
  },
  'story.postponed': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const wait = msBetween(event.at, event.notBefore);
      const time = wait > 0 ? `${formatElapsed(wait)}: ` : '';
      return [{ label: 'waiting', tone: 'warn', text: `${time}${safeLine(event.why, LINE_LENGTH)}` }];
    },
  },
  'breaker.held': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const wait = formatElapsed(msBetween(event.at, event.notBefore));
      const text = `${wait} for the breaker of ${safeLine(breakerName(event.key))} (\`${resetCommand(event.key)}\` closes it now): ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'waiting', tone: 'warn', text }];
    },
  },
  'breaker.changed': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const why = event.why === undefined ? '' : `: ${event.why}`;
      const text = safeLine(`the breaker of ${breakerName(event.key)} is ${event.status}${why}`, LINE_LENGTH);
      return [{ label: 'breaker', tone: event.status === 'closed' ? 'good' : 'warn', text }];
    },
  },
  'story.merged': {
    is: ['changes'],
    lines: (event) => [
      {
        label: 'merge',
        tone: 'quiet',
        text: `onto ${shortCommit(event.onto)}, which landed in the meantime; the gates run again`,
      },
    ],
  },
  'note.failed': {
    is: ['audited'],
    lines: (event) => {
      const [reason = ''] = headLines(event.reason, 1);
      return [{ label: 'land', tone: 'warn', text: `warning: no note on ${shortCommit(event.commit)}: ${reason}` }];
    },
  },
  'story.approved': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => [
      { label: 'story', tone: 'good', text: `APPROVED  ${shortCommit(event.commit)}${byUser(event)}` },
    ],
  },
  'approval.given': {
    is: ['changes', 'command', 'audited', 'wakes'],
    lines: (event) => {
      const what = 'to be merged onto the stories landed in the meantime; lands if the gates pass';
      return [
        { label: 'story', tone: 'good', text: `APPROVED  ${shortCommit(event.commit)}${byUser(event)}: ${what}` },
      ];
    },
  },
  'story.rejected': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => {
      const [reason = ''] = headLines(event.reason, 1);
      return [
        { label: 'story', tone: 'bad', text: `REJECTED  ${shortCommit(event.commit)}${byUser(event)}  ${reason}` },
      ];
    },
  },
  'feedback.given': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => {
      const { comments, text, commit, author } = event;
      const who = author === undefined ? byUser(event) : ` by ${safeLine(author)} in a review`;
      const count = comments.length;
      const counted = count === 0 ? '' : ` (${count} ${count === 1 ? 'comment' : 'comments'})`;
      const said = safeLine(text === '' ? (comments[0]?.text ?? '') : text, LINE_LENGTH);
      return [{ label: 'story', tone: 'warn', text: `FEEDBACK  ${shortCommit(commit)}${who}${counted}: ${said}` }];
    },
  },
  'story.answered': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => [
      {
        label: 'story',
        tone: 'good',
        text: `ANSWERED ${byUser(event)}${event.default ? ', because no person answered in time' : ''}: ${safeLine(event.text, LINE_LENGTH)}`,
      },
    ],
  },
  'message.sent': {
    is: ['changes', 'command', 'audited', 'operator'],
    lines: (event) => [
      { label: 'story', tone: 'strong', text: `MESSAGE  ${byUser(event)}: ${safeLine(event.text, LINE_LENGTH)}` },
    ],
  },
  'message.delivered': {
    is: ['changes'],
    lines: ({ ids, how }) => {
      const what = ids.length === 1 ? 'a message' : `${ids.length} messages`;
      const text = how === 'live' ? `received ${what} while it worked` : `has ${what} in its prompt`;
      return [{ label: 'agent', tone: 'quiet', text }];
    },
  },
  'question.expired': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => [
      {
        label: 'story',
        tone: 'bad',
        text: `EXPIRED   the question was not answered in time: the story ${UNANSWERED[event.then].expired}`,
      },
    ],
  },
  'story.cancelled': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => {
      const why = event.why === undefined ? '' : `: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'story', tone: 'warn', text: `CANCELLED ${byUser(event)}${why}` }];
    },
  },
  'issue.noted': {
    is: ['operator'],
    lines: (event) => {
      const text = `${safeLine(event.why, LINE_LENGTH)} The attempt uses the text that was submitted.`;
      return [{ label: 'issue', tone: 'warn', text }];
    },
  },
  'issue.reported': {
    is: ['audited'],
    lines: (event) => [{ label: 'issue', tone: 'quiet', text: `reported: ${event.status}` }],
  },
  'debug.opened': {
    is: ['audited'],
    lines: (event) => {
      const what = event.command === undefined ? 'a shell' : `\`${safeLine(event.command, LINE_LENGTH)}\``;
      const state = event.point === 'gates' ? 'as its gates found it' : 'as its agent left it';
      const text = `DEBUG  ${what} in a copy of attempt ${event.attempt}, ${state},${byUser(event)}`;
      return [{ label: 'story', tone: 'plain', text }];
    },
  },
  'debug.closed': {
    is: ['audited'],
    lines: (event) => {
      const code = event.exitCode === undefined ? '' : `, exited ${event.exitCode}`;
      const text = `DEBUG  closed after ${formatElapsed(event.ms)}${code}`;
      return [{ label: 'story', tone: 'plain', text }];
    },
  },
  'story.stopped': {
    is: ['changes'],
    lines: () => [{ label: 'story', tone: 'quiet', text: 'interrupted, without using up an attempt' }],
  },
};
