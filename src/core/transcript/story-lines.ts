import { describeWarning } from '../budget.ts';
import { breakerName, resetCommand } from '../failure/breaker.ts';
import { describeKeyPause } from '../failure/model-use.ts';
import { retryName } from '../failure/failure.ts';
import { plainReason } from '../failure/plain-reason.ts';
import { describeTestProblem } from '../review/tests-first.ts';
import type { AttemptRef, JournalEvent, Verdict } from '../journal/events.ts';
import type { Phase } from '../journal/phase.ts';
import { REFACTOR_UNCHANGED } from '../journal/tests-entries.ts';
import { describeBinaryFiles, describeLargeFiles, describeLockFiles } from '../noted-files.ts';
import { describeRestored } from '../review/restored-paths.ts';
import { failedTestsLines } from '../test-report/failed-tests.ts';
import { hasLostTests, type TestChanges } from '../test-report/test-report.ts';
import { describeAgentOptions } from '../agent-options.ts';
import { formatElapsed, formatTime, msBetween } from '../text/format-elapsed.ts';
import { describeHidden } from '../text/hidden-places.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { activityLines } from './activity-lines.ts';
import { describeDecision } from './decision-lines.ts';
import {
  headLines,
  continuationLines,
  EXCERPT,
  exitText,
  LINE_LENGTH,
  SAID_LINES,
  shortCommit,
  tailLines,
  logOptionFor,
  type Extent,
} from './excerpt.ts';
import type { StoryLine, Tone } from './transcript-line.ts';

type CommandEvent = Extract<JournalEvent, { type: 'gate.ended' | 'setup.ended' }>;
type StoryEvent = Extract<JournalEvent, { story: string }>;

/** Options of a transcript. */
export interface EventLineOptions {
  /** The run, for lines that name commands. */
  runId?: string;
  extent?: Extent;
}

const VERDICTS: Record<Verdict, { word: string; tone: Tone }> = {
  passed: { word: 'PASSED', tone: 'good' },
  failed: { word: 'FAILED', tone: 'bad' },
  needs_human: { word: 'NEEDS HUMAN', tone: 'warn' },
};

/** The transcript lines of a story event. */
export function storyEventLines(event: StoryEvent, how: EventLineOptions): StoryLine[] {
  switch (event.type) {
    case 'story.started': {
      const again = event.workerDied ? ' again, because its worker died' : '';
      const model = event.fallback === undefined ? '' : `, with the model ${safeLine(event.fallback.model)}`;
      const why = event.fallback === undefined ? '' : `: ${safeLine(event.fallback.why, LINE_LENGTH)}`;
      const text = `attempt ${event.attempt}${again}, on ${shortCommit(event.base)}${model}${why}`;
      return [{ label: 'story', tone: 'strong', text }];
    }
    case 'phase.started':
    case 'gate.started':
    case 'model.used':
    case 'criteria.claimed':
      return [];
    case 'model.paused': {
      const why = event.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
      const text = `requests for ${safeLine(event.model)} wait until ${formatTime(event.until, event.at)}: ${why}`;
      return [{ label: 'model', tone: 'warn', text }];
    }
    case 'key.paused': {
      const text = safeLine(describeKeyPause(event, event.at), LINE_LENGTH);
      return [{ label: 'model', tone: 'warn', text }];
    }
    case 'phase.ended':
      if (isUnremarkable(event.phase, event.ms)) return [];
      return [{ label: event.phase, tone: 'quiet', text: `done    ${formatElapsed(event.ms)}` }];
    case 'setup.ended':
      return commandLines(event, 'setup', how);
    case 'snapshot.started':
      return [
        { label: 'setup', tone: 'quiet', text: event.again ? 'again, to check the snapshot' : 'makes a snapshot' },
      ];
    case 'snapshot.used':
      if (event.made) {
        const until = event.wholeTree && ` until a file changes: ${safeLine(event.wholeTree, LINE_LENGTH)}`;
        return [{ label: 'setup', tone: 'quiet', text: `kept as snapshot ${event.key.slice(0, 12)}${until ?? ''}` }];
      }
      return [{ label: 'setup', tone: 'quiet', text: `from snapshot ${event.key.slice(0, 12)}` }];
    case 'snapshot.refused':
      return [{ label: 'setup', tone: 'warn', text: `no snapshot: ${safeLine(event.reason, LINE_LENGTH)}` }];
    case 'tree.restored': {
      const text = `before \`${safeLine(event.command, 60)}\`, reverted changes of setup or earlier gates: `;
      return [{ label: 'tree', tone: 'warn', text: `${text}${describeRestored(event)}` }];
    }
    case 'gate.ended':
      return commandLines(event, 'gate', how);
    case 'agent.activity':
      return activityLines(event.activity, how.extent ?? EXCERPT);
    case 'network.asked': {
      if (event.outcome !== 'refused') return [];
      const times = event.count === 1 ? '' : `  (${event.count} times)`;
      const what = safeLine(`${event.method} ${event.target}`, LINE_LENGTH);
      return [{ label: 'network', tone: 'warn', text: `refused ${what}${times}` }];
    }
    case 'story.ended': {
      const { word, tone } = VERDICTS[event.verdict];
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
        said === 'AGENT_FAILED  ' && how.runId !== undefined
          ? [`its stderr: ${logCommand(how.runId, event, '--stderr')}`]
          : [];
      return [
        { label: 'story', tone, text: `${word}  ${what}${first}`.trimEnd() },
        ...continuationLines(rest, 'plain', ''),
        ...continuationLines(more, 'quiet', '  '),
      ];
    }
    case 'story.disturbed': {
      const [first = '', ...rest] = headLines(event.summary, SAID_LINES);
      const lead: StoryLine = {
        label: 'story',
        tone: 'warn',
        text: `INTERRUPTED  ${plainReason(event.stopReason, undefined)}  ${first}`,
      };
      return [lead, ...continuationLines(rest, 'plain', '')];
    }
    case 'story.returned':
      return [{ label: 'story', tone: 'quiet', text: 'handed back: its worker is stopping' }];
    case 'retry.scheduled': {
      const wait = msBetween(event.at, event.notBefore);
      // The label already says "retry".
      const count = retryName(event).replace(/^retry /, '');
      const when = wait > 0 ? `${count} in ${formatElapsed(wait)}` : 'now';
      const text = `${when}: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'retry', tone: 'warn', text }];
    }
    case 'story.postponed': {
      const wait = msBetween(event.at, event.notBefore);
      const until = wait > 0 ? `${formatElapsed(wait)}, until ${formatTime(event.notBefore, event.at)}: ` : '';
      return [{ label: 'waiting', tone: 'warn', text: `${until}${safeLine(event.why, LINE_LENGTH)}` }];
    }
    case 'breaker.held': {
      const wait = formatElapsed(msBetween(event.at, event.notBefore));
      const text = `${wait} for the breaker of ${safeLine(breakerName(event.key))} (\`${resetCommand(event.key)}\` closes it now): ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'waiting', tone: 'warn', text }];
    }
    case 'breaker.changed': {
      const why = event.why === undefined ? '' : `: ${event.why}`;
      const text = safeLine(`the breaker of ${breakerName(event.key)} is ${event.status}${why}`, LINE_LENGTH);
      return [{ label: 'breaker', tone: event.status === 'closed' ? 'good' : 'warn', text }];
    }
    case 'budget.warned':
      return [{ label: 'budget', tone: 'warn', text: describeWarning(event) }];
    case 'issue.reported':
      return [{ label: 'issue', tone: 'quiet', text: `reported: ${event.status}` }];
    case 'prompt.built':
      return promptLines(event);
    case 'agent.launched': {
      const said = describeAgentOptions(event);
      const text = [event.agent, ...(event.model === undefined ? [] : [event.model]), ...said].join(', ');
      return said.length === 0 ? [] : [{ label: 'agent', tone: 'quiet', text: safeLine(text, LINE_LENGTH) }];
    }
    case 'tests.judged':
      if (event.why === undefined) return [];
      return [{ label: 'tests', tone: 'warn', text: describeTestProblem({ step: event.step, why: event.why }) }];
    case 'tests.locked': {
      const named = event.files.map(({ path }) => safeLine(path)).join(', ');
      const held = event.holding?.length ?? 0;
      const early = held === 0 ? '' : `, ${held} passed as declared`;
      const failed = event.cases.length === 0 ? '' : ` (${event.cases.length - held} failed as they must${early})`;
      const from = event.from === undefined ? '' : `, written by attempt ${event.from}`;
      return [{ label: 'tests', tone: 'plain', text: safeLine(`locked: ${named}${failed}${from}`, LINE_LENGTH) }];
    }
    case 'refactor.ended': {
      // Nothing is wrong with code that needs no refactoring.
      if (event.why === REFACTOR_UNCHANGED)
        return [{ label: 'agent', tone: 'plain', text: 'refactoring changed nothing' }];
      const why = event.kept ? ' kept' : ` dropped: ${safeLine(event.why ?? '', LINE_LENGTH)}`;
      return [{ label: 'agent', tone: event.kept ? 'plain' : 'warn', text: `refactoring${why}` }];
    }
    case 'tests.compared':
      return hasLostTests(event) ? [{ label: 'tests', tone: 'warn', text: testsText(event) }] : [];
    case 'story.merged':
      return [
        {
          label: 'merge',
          tone: 'quiet',
          text: `onto ${shortCommit(event.onto)}, which landed in the meantime; the gates run again`,
        },
      ];
    case 'secrets.suspected':
      return event.suspects.map(({ path, names }) => ({
        label: 'import',
        tone: 'warn' as const,
        text: `warning: ${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
      }));
    case 'hidden.added':
      return [{ label: 'import', tone: 'warn', text: `warning: adds ${describeHidden(event.hidden)}` }];
    case 'files.noted':
      return [
        ...(event.large.length === 0 ? [] : [describeLargeFiles(event.large)]),
        ...((event.binary ?? []).length === 0 ? [] : [describeBinaryFiles(event.binary ?? [])]),
        ...(event.locks.length === 0 ? [] : [describeLockFiles(event.locks)]),
      ].map((text) => ({ label: 'import', tone: 'warn' as const, text: `warning: ${text}` }));
    case 'note.failed': {
      const [reason = ''] = headLines(event.reason, 1);
      return [{ label: 'land', tone: 'warn', text: `warning: no note on ${shortCommit(event.commit)}: ${reason}` }];
    }
    case 'story.approved':
    case 'approval.given':
    case 'feedback.given':
    case 'story.answered':
    case 'question.expired':
    case 'story.cancelled':
    case 'story.rejected':
      return [{ label: 'story', ...describeDecision(event) }];
    case 'issue.noted': {
      const text = `${safeLine(event.why, LINE_LENGTH)} The attempt uses the text that was submitted.`;
      return [{ label: 'issue', tone: 'warn', text }];
    }
    case 'story.stopped':
      return [{ label: 'story', tone: 'quiet', text: 'interrupted, without using up an attempt' }];
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

/** Describes test changes, e.g. `12 before, 11 after; removed: adds`. */
export function testsText({ before, after, removed, skipped, emptied }: TestChanges): string {
  const named = (what: string, names: string[]) =>
    names.length === 0 ? [] : [`${what}: ${safeLine(names.join(', '), LINE_LENGTH)}`];
  const parts = [...named('removed', removed), ...named('skipped', skipped), ...named('emptied', emptied)];
  return [`${before} before, ${after} after`, ...parts].join('; ');
}

/** Gates have lines of their own, and short phases are noise. */
function isUnremarkable(phase: Phase, ms: number): boolean {
  return phase === 'gates' || (phase !== 'prepare' && phase !== 'agent' && ms < 1000);
}

function commandLines(event: CommandEvent, label: string, { extent = EXCERPT, runId }: EventLineOptions): StoryLine[] {
  const { failed } = event;
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
  if (event.exitCode === 0) return { label, tone: 'good', text: `ok      ${took.padEnd(6)}  ${command}` };
  return { label, tone: 'bad', text: `FAILED  ${took.padEnd(6)}  ${command}  (${exitText(event.exitCode)})` };
}

/** The command that prints a log of an attempt, e.g. `halo logs 2dhe --story US-002 --attempt 1 --gate 2`. */
function logCommand(runId: string, { story, attempt }: AttemptRef, which: string): string {
  return `halo logs ${runId} --story ${printableShellWord(safeLine(story))} --attempt ${attempt} ${which}`;
}
