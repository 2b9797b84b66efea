import { breakerName, resetCommand } from '../failure/breaker.ts';
import { formatDuration, msBetween } from '../text/format-elapsed.ts';
import type { JournalEvent, Verdict } from '../journal/events.ts';
import { failedTestsLines } from '../test-report/failed-tests.ts';
import { logOption } from '../log-option.ts';
import type { Phase } from '../phase.ts';
import { plainReason } from '../failure/plain-reason.ts';
import { restoredText } from '../review/restored-paths.ts';
import { hiddenText } from '../text/hidden-places.ts';
import { safeLine } from '../safe-text.ts';
import { shellWord } from '../shell-word.ts';
import { losesTests, type TestChanges } from '../test-report/test-report.ts';
import { activityLines } from './activity-lines.ts';
import type { StoryLine, Tone } from './transcript-line.ts';
import {
  cap,
  cleanLines,
  continued,
  EXCERPT,
  exitText,
  type Extent,
  LINE_LENGTH,
  SAID_LINES,
  short,
  tail,
} from '../transcript-text.ts';

type CommandEvent = Extract<JournalEvent, { type: 'gate.ended' | 'setup.ended' }>;
type StoryEvent = Extract<JournalEvent, { story: string }>;

/** For whom a transcript is. */
export interface Telling {
  /** Where its lines name commands: the run that they are about. */
  runId?: string;
  extent?: Extent;
}

const VERDICTS: Record<Verdict, { word: string; tone: Tone }> = {
  passed: { word: 'PASSED', tone: 'good' },
  failed: { word: 'FAILED', tone: 'bad' },
  needs_human: { word: 'NEEDS HUMAN', tone: 'warn' },
};

/** The lines of an event that belongs to a story. */
export function storyLines(event: StoryEvent, how: Telling): StoryLine[] {
  switch (event.type) {
    case 'story.started':
      return [{ label: 'story', tone: 'strong', text: `attempt ${event.attempt}, on ${short(event.base)}` }];
    case 'phase.started':
    case 'gate.started':
    case 'model.used':
    case 'criteria.claimed':
      return [];
    case 'model.paused': {
      const why = event.why === 'rate' ? 'the configured rate is reached' : 'its provider wants a pause';
      const text = `requests for ${safeLine(event.model)} wait until ${event.until.slice(11, 19)} UTC: ${why}`;
      return [{ label: 'model', tone: 'warn', text }];
    }
    case 'phase.ended':
      if (isUnremarkable(event.phase, event.ms)) return [];
      return [{ label: event.phase, tone: 'quiet', text: `done    ${formatDuration(event.ms)}` }];
    case 'setup.ended':
      return commandLines(event, 'setup', how);
    case 'tree.restored': {
      const text = `before \`${safeLine(event.command, 60)}\`, undone what setup or earlier gates changed: `;
      return [{ label: 'tree', tone: 'warn', text: `${text}${restoredText(event)}` }];
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
      const unchanged = event.verdict === 'passed' ? 'no change needed' : plainReason(event.stopReason, event.failure);
      const said = event.verdict === 'needs_human' ? '' : `${unchanged}  `;
      const what = event.commit === undefined ? said : `${short(event.commit)}  `;
      const [first = '', ...rest] = cap(event.summary, SAID_LINES);
      return [{ label: 'story', tone, text: `${word}  ${what}${first}`.trimEnd() }, ...continued(rest, 'plain', '')];
    }
    case 'story.disturbed': {
      const [first = '', ...rest] = cap(event.summary, SAID_LINES);
      const lead: StoryLine = {
        label: 'story',
        tone: 'warn',
        text: `INTERRUPTED  ${plainReason(event.stopReason, undefined)}  ${first}`,
      };
      return [lead, ...continued(rest, 'plain', '')];
    }
    case 'story.returned':
      return [{ label: 'story', tone: 'quiet', text: 'handed back: its worker stops' }];
    case 'retry.scheduled': {
      const wait = msBetween(event.at, event.notBefore);
      const when = wait > 0 ? `${event.nth} of ${event.of} in ${formatDuration(wait)}` : 'at once';
      const text = `${when}: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'retry', tone: 'warn', text }];
    }
    case 'breaker.held': {
      const wait = formatDuration(msBetween(event.at, event.notBefore));
      const text = `${wait} for the breaker of ${safeLine(breakerName(event.key))}, which \`${resetCommand(event.key)}\` closes: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'waits', tone: 'warn', text }];
    }
    case 'tests.compared':
      return losesTests(event) ? [{ label: 'tests', tone: 'warn', text: testsText(event) }] : [];
    case 'story.merged':
      return [
        { label: 'merge', tone: 'quiet', text: `onto ${short(event.onto)}, which landed meanwhile; gates again` },
      ];
    case 'secrets.suspected':
      return event.suspects.map(({ path, names }) => ({
        label: 'import',
        tone: 'warn' as const,
        text: `warning: ${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
      }));
    case 'hidden.added':
      return [{ label: 'import', tone: 'warn', text: `warning: adds ${hiddenText(event.hidden)}` }];
    case 'note.failed': {
      const [reason = ''] = cap(event.reason, 1);
      return [{ label: 'land', tone: 'warn', text: `warning: no note on ${short(event.commit)}: ${reason}` }];
    }
    case 'story.approved':
      return [{ label: 'story', tone: 'good', text: `APPROVED  ${short(event.commit)}${byWhom(event)}` }];
    case 'approval.given': {
      const what = 'merged onto what landed meanwhile and proven again, then it lands';
      return [{ label: 'story', tone: 'good', text: `APPROVED  ${short(event.commit)}${byWhom(event)}: ${what}` }];
    }
    case 'story.cancelled':
      return [{ label: 'story', tone: 'warn', text: `CANCELLED ${byWhom(event)}` }];
    case 'story.stopped':
      return [{ label: 'story', tone: 'quiet', text: 'given up in the middle, at no cost of attempts' }];
    case 'story.rejected': {
      const [reason = ''] = cap(event.reason, 1);
      return [{ label: 'story', tone: 'bad', text: `REJECTED  ${short(event.commit)}${byWhom(event)}  ${reason}` }];
    }
  }
}

function byWhom({ by }: { by?: string }): string {
  return by === undefined ? '' : ` by ${safeLine(by)}`;
}

/** What became of the tests that were there, e.g. `12 before, 11 after; removed: adds`. */
export function testsText({ before, after, removed, skipped, emptied }: TestChanges): string {
  const named = (what: string, names: string[]) =>
    names.length === 0 ? [] : [`${what}: ${safeLine(names.join(', '), LINE_LENGTH)}`];
  const parts = [...named('removed', removed), ...named('skipped', skipped), ...named('emptied', emptied)];
  return [`${before} before, ${after} after`, ...parts].join('; ');
}

/** Gates have lines of their own, and short work of halo's own is noise. */
function isUnremarkable(phase: Phase, ms: number): boolean {
  return phase === 'gates' || (phase !== 'prepare' && phase !== 'agent' && ms < 1000);
}

function commandLines(event: CommandEvent, label: string, { extent = EXCERPT, runId }: Telling): StoryLine[] {
  const { failed } = event;
  const said =
    failed === undefined
      ? tail(event.tail ?? '', extent.failedOutput, extent.line)
      : failedTestsLines(failed).flatMap((line) => cleanLines(line));
  const output = continued(said, failed === undefined ? 'quiet' : 'plain', '  ');
  const log = runId === undefined || event.exitCode === 0 ? [] : [`whole log: ${logCommand(runId, event)}`];
  return [commandLine(event, label), ...output, ...continued(log, 'quiet', '  ')];
}

function commandLine(event: CommandEvent, label: string): StoryLine {
  const command = safeLine(event.command);
  const took = formatDuration(event.ms);
  if (event.exitCode === 0) return { label, tone: 'good', text: `ok      ${took.padEnd(6)}  ${command}` };
  return { label, tone: 'bad', text: `FAILED  ${took.padEnd(6)}  ${command}  (${exitText(event.exitCode)})` };
}

/** The command that prints a log of an attempt, e.g. `halo logs 2dhe --story US-002 --attempt 1 --gate 2`. */
function logCommand(runId: string, { story, attempt, log }: CommandEvent): string {
  const which = logOption(log);
  return `halo logs ${runId} --story ${shellWord(safeLine(story))} --attempt ${attempt} ${which}`;
}
