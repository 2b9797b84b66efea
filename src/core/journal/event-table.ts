import { describeWarning } from '../budget.ts';
import { describeAgentOptions } from '../agent-options.ts';
import { breakerName, resetCommand } from '../failure/breaker.ts';
import { retryName } from '../failure/failure.ts';
import { describeKeyPause } from '../failure/model-use.ts';
import { isAgentFault, plainReason } from '../failure/plain-reason.ts';
import { describeBinaryFiles, describeIgnored, describeLargeFiles, describeLockFiles } from '../noted-files.ts';
import { dateTime } from '../retention/retention.ts';
import { describeRestored } from '../review/restored-paths.ts';
import { describeTestProblem } from '../review/tests-first.ts';
import { PROGRESS } from '../run/progress.ts';
import { UNANSWERED } from '../run/questions.ts';
import { unmarkedText } from '../run/unmarked-stories.ts';
import { failedTestsLines } from '../test-report/failed-tests.ts';
import { hasLostTests, testsText } from '../test-report/test-report.ts';
import { formatElapsed, formatTime, msBetween } from '../text/format-elapsed.ts';
import { describeHidden } from '../text/hidden-places.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { activityLines } from '../transcript/activity-lines.ts';
import {
  commandEnd,
  continuationLines,
  EXCERPT,
  exitText,
  headLines,
  LINE_LENGTH,
  logOptionFor,
  SAID_LINES,
  shortCommit,
  tailLines,
  type Extent,
} from '../transcript/excerpt.ts';
import type { StoryLine, Tone } from '../transcript/transcript-line.ts';
import type { AttemptRef, JournalEvent } from './events.ts';
import type { Phase } from './phase.ts';

/**
 * What halo knows about a type of event:
 * - `lossy`: it can be lost without harm, so that halo continues before it is on disk
 * - `changes`: it changes the run or a story, and with it run.json, the lists of runs and what is sent to people
 * - `command`: a decision about the run by a user, or by halo in the place of one (the failpoint `command`)
 * - `audited`: `halo audit` lists it
 * - `wakes`: `halo_wait` returns
 * - `operator`: `halo up` prints a line about it
 */
type EventFact = 'lossy' | 'changes' | 'command' | 'audited' | 'wakes' | 'operator';

export type EventType = JournalEvent['type'];

interface EventRow<T extends EventType> {
  is: readonly EventFact[];
  /** Its lines for people, in logs and on screens. Most events have one line, some have none. */
  lines(event: JournalEvent & { type: T }, how: EventLineOptions): StoryLine[];
}

/** Options of a transcript. */
export interface EventLineOptions {
  /** The run, for lines that name commands. */
  runId?: string;
  extent?: Extent;
}

type CommandEvent = JournalEvent & { type: 'gate.ended' | 'setup.ended' };

const EVENTS: { [T in EventType]: EventRow<T> } = {
  'run.created': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const count = event.prd.stories.length;
      const stories = `${count} ${count === 1 ? 'story' : 'stories'}`;
      return runLine(
        'strong',
        event.runId,
        `${stories}${event.prd.project === '' ? '' : ` of ${event.prd.project}`}, ${event.repo.source}${event.repo.base === '' ? '' : ` at ${shortCommit(event.repo.base)}`}${event.planning ? ', plan' : event.dry ? ', dry run' : ''}`,
      );
    },
  },
  'need.changed': { is: ['changes'], lines: (event) => needLine(event) },
  'run.started': { is: ['changes', 'audited'], lines: () => [] },
  'run.claimed': { is: ['changes'], lines: () => [] },
  'run.ended': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine(event.stopReason === 'SUCCESS' ? 'good' : 'bad', event.stopReason, event.detail),
  },
  'run.paused': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('warn', 'PAUSED', `by ${event.by}${event.now ? '' : ', after the story in progress'}`),
  },
  'run.resumed': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('plain', 'RESUMED', `by ${event.by}`),
  },
  'run.retried': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('plain', 'RETRIED', `by ${event.by}: ${event.stories.join(', ') || 'stories that had not started'}`),
  },
  'run.replanned': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('plain', 'REPLANNED', `by ${event.by}: ${event.prd.stories.length} stories of ${event.prdPath}`),
  },
  'run.reconfigured': {
    is: ['changes', 'command', 'audited'],
    lines: (event) => runLine('plain', 'RECONFIGURED', `by ${event.by}: ${event.set.join(', ')}`),
  },
  'run.approved': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('good', 'APPROVED', `${shortCommit(event.tip)} by ${event.by}`),
  },
  'run.rejected': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('bad', 'REJECTED', `${shortCommit(event.tip)} by ${event.by}: ${event.reason}`),
  },
  'run.landed': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('good', 'LANDED', `${event.branch} moved from ${shortCommit(event.from)} to ${shortCommit(event.to)}`),
  },
  'run.pruned': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('warn', 'PRUNED', `retention removed the artifacts on ${dateTime(event.at)}`),
  },
  'marks.failed': { is: ['changes', 'audited'], lines: (event) => runLine('warn', 'NOT MARKED', unmarkedText(event)) },
  'marks.caught_up': {
    is: ['changes'],
    lines: () => runLine('plain', 'MARKED', 'the PRD file marks all landed stories'),
  },
  'story.started': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const again = event.workerDied ? ' again, because its worker died' : '';
      const model = event.fallback === undefined ? '' : `, with the model ${safeLine(event.fallback.model)}`;
      const why = event.fallback === undefined ? '' : `: ${safeLine(event.fallback.why, LINE_LENGTH)}`;
      const text = `attempt ${event.attempt}${again}, on ${shortCommit(event.base)}${model}${why}`;
      return [{ label: 'story', tone: 'strong', text }];
    },
  },
  'phase.started': { is: ['lossy'], lines: () => [] },
  'phase.ended': {
    is: ['lossy'],
    lines: (event) => {
      if (isUnremarkable(event.phase, event.ms)) return [];
      return [{ label: event.phase, tone: 'quiet', text: `done    ${formatElapsed(event.ms)}` }];
    },
  },
  'setup.ended': { is: [], lines: (event, how) => commandLines(event, 'setup', how) },
  'snapshot.started': {
    is: [],
    lines: (event) => [
      { label: 'setup', tone: 'quiet', text: event.again ? 'again, to check the snapshot' : 'makes a snapshot' },
    ],
  },
  'snapshot.used': {
    is: [],
    lines: (event) => {
      if (event.made) {
        const until = event.wholeTree && ` until a file changes: ${safeLine(event.wholeTree, LINE_LENGTH)}`;
        return [{ label: 'setup', tone: 'quiet', text: `kept as snapshot ${event.key.slice(0, 12)}${until ?? ''}` }];
      }
      return [{ label: 'setup', tone: 'quiet', text: `from snapshot ${event.key.slice(0, 12)}` }];
    },
  },
  'snapshot.refused': {
    is: [],
    lines: (event) => [{ label: 'setup', tone: 'warn', text: `no snapshot: ${safeLine(event.reason, LINE_LENGTH)}` }],
  },
  'prompt.built': { is: [], lines: (event) => promptLines(event) },
  'agent.launched': {
    is: [],
    lines: (event) => {
      const said = describeAgentOptions(event);
      const text = [event.agent, ...(event.model === undefined ? [] : [event.model]), ...said].join(', ');
      return said.length === 0 ? [] : [{ label: 'agent', tone: 'quiet', text: safeLine(text, LINE_LENGTH) }];
    },
  },
  'agent.activity': { is: ['lossy'], lines: (event, how) => activityLines(event.activity, how.extent ?? EXCERPT) },
  'network.asked': {
    is: [],
    lines: (event) => {
      if (event.outcome !== 'refused') return [];
      const times = event.count === 1 ? '' : `  (${event.count} times)`;
      const what = safeLine(`${event.method} ${event.target}`, LINE_LENGTH);
      return [{ label: 'network', tone: 'warn', text: `refused ${what}${times}` }];
    },
  },
  'model.used': { is: [], lines: () => [] },
  'budget.warned': {
    is: ['changes'],
    lines: (event) => [{ label: 'budget', tone: 'warn', text: describeWarning(event) }],
  },
  'model.paused': {
    is: ['changes', 'audited'],
    lines: (event) => {
      const why = event.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
      const text = `requests for ${safeLine(event.model)} wait until ${formatTime(event.until, event.at)}: ${why}`;
      return [{ label: 'model', tone: 'warn', text }];
    },
  },
  'key.paused': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const text = safeLine(describeKeyPause(event, event.at), LINE_LENGTH);
      return [{ label: 'model', tone: 'warn', text }];
    },
  },
  'gate.started': { is: ['lossy'], lines: () => [] },
  'tree.restored': {
    is: [],
    lines: (event) => {
      const text = `before \`${safeLine(event.command, 60)}\`, reverted changes of setup or earlier gates: `;
      return [{ label: 'tree', tone: 'warn', text: `${text}${describeRestored(event)}` }];
    },
  },
  'gate.ended': { is: [], lines: (event, how) => commandLines(event, 'gate', how) },
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
      const said = event.verdict === 'needs_human' ? '' : `${unchanged}  `;
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
      const until = wait > 0 ? `${formatElapsed(wait)}, until ${formatTime(event.notBefore, event.at)}: ` : '';
      return [{ label: 'waiting', tone: 'warn', text: `${until}${safeLine(event.why, LINE_LENGTH)}` }];
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
  'breaker.opened': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('bad', 'BREAKER OPEN', event.reason),
  },
  'breaker.reset': {
    is: ['changes', 'command', 'audited'],
    lines: (event) => runLine('good', 'BREAKER RESET', `${event.key}, by a user`),
  },
  'secrets.suspected': {
    is: ['audited'],
    lines: (event) =>
      event.suspects.map(({ path, names }) => ({
        label: 'import',
        tone: 'warn' as const,
        text: `warning: ${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
      })),
  },
  'hidden.added': {
    is: ['audited'],
    lines: (event) => [{ label: 'import', tone: 'warn', text: `warning: adds ${describeHidden(event.hidden)}` }],
  },
  'files.noted': {
    is: [],
    lines: (event) =>
      [
        ...(event.large?.length ? [describeLargeFiles(event.large)] : []),
        ...(event.binary?.length ? [describeBinaryFiles(event.binary)] : []),
        ...(event.locks?.length ? [describeLockFiles(event.locks)] : []),
        ...(event.ignored?.length ? [describeIgnored(event.ignored)] : []),
      ].map((text) => ({ label: 'import', tone: 'warn' as const, text: `warning: ${text}` })),
  },
  'tests.judged': {
    is: [],
    lines: (event) => {
      if (event.why === undefined) return [];
      return [{ label: 'tests', tone: 'warn', text: describeTestProblem({ step: event.step, why: event.why }) }];
    },
  },
  'tests.locked': {
    is: [],
    lines: (event) => {
      const named = event.files.map(({ path }) => safeLine(path)).join(', ');
      const held = event.holding?.length ?? 0;
      const early = held === 0 ? '' : `, ${held} passed as declared`;
      const failed = event.cases.length === 0 ? '' : ` (${event.cases.length - held} failed as they must${early})`;
      const from = event.from === undefined ? '' : `, written by attempt ${event.from}`;
      return [{ label: 'tests', tone: 'plain', text: safeLine(`locked: ${named}${failed}${from}`, LINE_LENGTH) }];
    },
  },
  'refactor.ended': {
    is: [],
    lines: (event) => {
      // Nothing is wrong with code that needs no refactoring.
      if (event.unchanged) return [{ label: 'agent', tone: 'plain', text: 'refactoring changed nothing' }];
      const why = event.kept ? ' kept' : ` dropped: ${safeLine(event.why ?? '', LINE_LENGTH)}`;
      return [{ label: 'agent', tone: event.kept ? 'plain' : 'warn', text: `refactoring${why}` }];
    },
  },
  'tests.compared': {
    is: [],
    lines: (event) =>
      hasLostTests(event) || event.unread !== undefined
        ? [{ label: 'tests', tone: 'warn', text: testsText(event) }]
        : [],
  },
  'criteria.claimed': { is: [], lines: () => [] },
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
  'pull.opened': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('good', 'PULL REQUEST', `#${event.number} ${safeLine(event.url, 500)}`),
  },
  'pull.closed': {
    is: ['changes', 'audited'],
    lines: (event) =>
      runLine(
        event.merged ? 'good' : 'warn',
        'PULL REQUEST',
        `#${event.number} was ${event.merged ? 'merged' : 'closed'}`,
      ),
  },
  'pull.requested': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('plain', 'PULL REQUEST REQUESTED', `by ${event.by}`),
  },
  'story.stopped': {
    is: ['changes'],
    lines: () => [{ label: 'story', tone: 'quiet', text: 'interrupted, without using up an attempt' }],
  },
};

/** Whether this version knows the event type; newer versions may have more. */
export function isEventType(type: string): boolean {
  return Object.hasOwn(EVENTS, type);
}

export function eventIs({ type }: Pick<JournalEvent, 'type'>, fact: EventFact): boolean {
  return EVENTS[type].is.includes(fact);
}

/** The types of which this is true. */
export function eventTypes(fact: EventFact): EventType[] {
  return (Object.keys(EVENTS) as EventType[]).filter((type) => eventIs({ type }, fact));
}

/** The lines of an event, without its story. */
export function eventLines<T extends EventType>(event: JournalEvent & { type: T }, how: EventLineOptions): StoryLine[] {
  return EVENTS[event.type].lines(event, how);
}

function runLine(tone: Tone, word: string, text: string): StoryLine[] {
  return [{ label: 'run', tone, text: `${safeLine(word)}  ${safeLine(text, LINE_LENGTH)}` }];
}

/** ` by ann`, for decisions. */
function byUser({ by }: { by: string }): string {
  return ` by ${safeLine(by)}`;
}

function needLine({ run, now, stopReason }: JournalEvent & { type: 'need.changed' }): StoryLine[] {
  switch (now) {
    case 'met':
      return runLine('plain', 'WAITED', `for ${run}, which ended with SUCCESS`);
    case 'failed':
      return runLine('warn', 'BLOCKED', `${run} ended with ${stopReason ?? 'a failure'}`);
    case 'open':
      return runLine('plain', 'WAITING', `for ${run}, which continues`);
  }
}

/** What the agent does not get, if anything. */
function promptLines({
  tokens,
  maxTokens,
  sections,
  missing = [],
}: JournalEvent & { type: 'prompt.built' }): StoryLine[] {
  const cut = sections.filter((part) => part.cut !== undefined);
  const names = cut.map(({ name, file, cut: lost = 0 }) => `${name}${file === undefined ? '' : ` (${file})`} -${lost}`);
  const said = [
    ...(cut.length === 0 ? [] : [`cut to ${tokens} of at most ${maxTokens} tokens: ${names.join(', ')}`]),
    ...missing.map((problem) => `warning: ${problem}`),
  ];
  return said.map((text) => ({ label: 'prompt', tone: 'warn', text: safeLine(text, LINE_LENGTH) }));
}

/** Gates have lines of their own, and short phases are noise. */
function isUnremarkable(phase: Phase, ms: number): boolean {
  return phase === 'gates' || (phase !== 'prepare' && phase !== 'agent' && ms < 1000);
}

function commandLines(event: CommandEvent, label: string, { extent = EXCERPT, runId }: EventLineOptions): StoryLine[] {
  const { failed } = event;
  if (event.interrupted) return [commandLine(event, label)];
  const said =
    failed === undefined ? tailLines(event.tail ?? '', extent.failedOutput, extent.line) : failedTestsLines(failed);
  const output = continuationLines(said, failed === undefined ? 'quiet' : 'plain', '  ');
  const log =
    runId === undefined || event.exitCode === 0
      ? []
      : [`whole log: ${logCommand(runId, event, logOptionFor(event.log))}`];
  return [commandLine(event, label), ...output, ...continuationLines(log, 'quiet', '  ')];
}

function commandLine(event: CommandEvent, label: string): StoryLine {
  const command = safeLine(event.command);
  const took = formatElapsed(event.ms);
  const { tone } = commandEnd(event);
  if (tone === 'good') return { label, tone, text: `ok      ${took.padEnd(6)}  ${command}` };
  if (tone === 'warn') return { label, tone, text: `interrupted  ${took.padEnd(6)}  ${command}` };
  return { label, tone: 'bad', text: `FAILED  ${took.padEnd(6)}  ${command}  (${exitText(event.exitCode)})` };
}

/** The command that prints a log of an attempt, e.g. `halo logs 2dhe --story US-002 --attempt 1 --gate 2`. */
function logCommand(runId: string, { story, attempt }: AttemptRef, which: string): string {
  return `halo logs ${runId} --story ${printableShellWord(safeLine(story))} --attempt ${attempt} ${which}`;
}
