import type { AgentActivity } from './agent.ts';
import { formatDuration, msBetween } from './duration.ts';
import type { CommandResult, JournalEvent, Verdict } from './events.ts';
import type { Phase } from './phase.ts';
import { readsOnly } from './reads-only.ts';
import { clip, safeLine, safeText } from './safe-text.ts';
import type { TestChanges } from './test-report.ts';

/** How a line wants to be seen; printers choose colors by it. */
export type Tone = 'plain' | 'quiet' | 'good' | 'bad' | 'warn' | 'strong';

/** One line of a transcript, not yet laid out. `label` says who speaks; without one it goes on with the line before. */
export interface TranscriptLine {
  story: string;
  label: string;
  tone: Tone;
  text: string;
}

const TIME_WIDTH = 8;
const STORY_WIDTH = 8;
const LABEL_WIDTH = 7;
const LINE_LENGTH = 240;
const SAID_LINES = 12;
const OUTPUT_LINES = 3;
const FAILED_OUTPUT_LINES = 8;
/** Enough to tell which: the whole command was shown when it started. */
const FAILED_COMMAND_LENGTH = 60;

const VERDICTS: Record<Verdict, { word: string; tone: Tone }> = {
  passed: { word: 'PASSED', tone: 'good' },
  failed: { word: 'FAILED', tone: 'bad' },
  needs_human: { word: 'NEEDS HUMAN', tone: 'warn' },
};

/**
 * What an event means to people: plain lines in aligned columns (elapsed time, story, who, what), without color.
 * `startedAt` is the ISO 8601 time that elapsed time counts from. Safe to print whatever the agent wrote.
 */
export function transcribe(event: JournalEvent, startedAt: string): string[] {
  return describe(event).map((line) => layOut(line, msBetween(startedAt, event.at)));
}

/** Gives text its look; the plain one returns it unchanged. */
export type Paint = (tone: Tone, text: string) => string;

/** One laid-out line; a line that goes on with the one before leaves the first columns empty. */
export function layOut(line: TranscriptLine, elapsedMs: number, paint: Paint = (_tone, text) => text): string {
  const first = line.label !== '';
  const story = clip(line.story, 16);
  const time = (first ? formatDuration(elapsedMs) : '').padStart(TIME_WIDTH);
  const who = [(first ? story : '').padEnd(Math.max(STORY_WIDTH, story.length)), line.label.padEnd(LABEL_WIDTH)];
  if (line.text === '') return paint('quiet', [time, ...who].join('  ').trimEnd());
  return `${paint('quiet', [time, ...who].join('  '))}  ${paint(line.tone, line.text)}`;
}

/** The lines of an event, before layout. Most events have one line, quiet ones none. */
export function describe(event: JournalEvent): TranscriptLine[] {
  switch (event.type) {
    case 'run.created': {
      const count = event.prd.stories.length;
      const stories = `${count} ${count === 1 ? 'story' : 'stories'}`;
      return runLine(
        'strong',
        event.runId,
        `${stories} of ${event.prd.project}, ${event.repo.source}${event.repo.base === '' ? '' : ` at ${short(event.repo.base)}`}`,
      );
    }
    case 'run.started':
    case 'run.claimed':
      return [];
    case 'need.changed':
      return needLine(event);
    case 'run.ended':
      return runLine(event.stopReason === 'SUCCESS' ? 'good' : 'bad', event.stopReason, event.detail);
    case 'run.paused':
      return runLine('warn', 'PAUSED', `by ${event.by}${event.now ? '' : ', after the story under way'}`);
    case 'run.resumed':
      return runLine('plain', 'RESUMED', `by ${event.by}`);
    case 'run.retried':
      return runLine('plain', 'RETRIED', `by ${event.by}: ${event.stories.join(', ') || 'what was not begun'}`);
    case 'run.replanned':
      return runLine('plain', 'REPLANNED', `by ${event.by}: ${event.prd.stories.length} stories of ${event.prdPath}`);
    case 'run.approved':
      return runLine('good', 'APPROVED', `${short(event.tip)} by ${event.by}`);
    case 'run.rejected':
      return runLine('bad', 'REJECTED', `${short(event.tip)} by ${event.by}: ${event.reason}`);
    case 'run.landed':
      return runLine('good', 'LANDED', `${event.branch} moved from ${short(event.from)} to ${short(event.to)}`);
    case 'breaker.opened':
      return runLine('bad', 'STOPPED TRYING', event.reason);
    case 'breaker.reset':
      return runLine('good', 'TRIES AGAIN', `the breaker ${event.key} was closed by a person`);
    default:
      return storyLines(event).map(({ label, tone, text }) => ({ story: safeLine(event.story), label, tone, text }));
  }
}

function needLine({ run, now, stopReason }: JournalEvent & { type: 'need.changed' }): TranscriptLine[] {
  switch (now) {
    case 'met':
      return runLine('plain', 'waited', `for ${run}, which ended with SUCCESS`);
    case 'failed':
      return runLine('warn', 'BLOCKED', `${run} ended with ${stopReason ?? 'a failure'}`);
    case 'open':
      return runLine('plain', 'waits', `for ${run}, which goes on again`);
  }
}

type StoryEvent = Extract<JournalEvent, { story: string }>;
type StoryLine = Omit<TranscriptLine, 'story'>;

function storyLines(event: StoryEvent): StoryLine[] {
  switch (event.type) {
    case 'story.started':
      return [{ label: 'story', tone: 'strong', text: `attempt ${event.attempt}, on ${short(event.base)}` }];
    case 'phase.started':
    case 'gate.started':
    case 'model.used':
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
      return commandLines(event, 'setup');
    case 'gate.ended':
      return commandLines(event, 'gate');
    case 'agent.activity':
      return activityLines(event.activity);
    case 'network.asked': {
      if (event.outcome !== 'refused') return [];
      const times = event.count === 1 ? '' : `  (${event.count} times)`;
      const what = safeLine(`${event.method} ${event.target}`, LINE_LENGTH);
      return [{ label: 'network', tone: 'warn', text: `refused ${what}${times}` }];
    }
    case 'story.ended': {
      const { word, tone } = VERDICTS[event.verdict];
      const what = event.commit === undefined ? event.stopReason : short(event.commit);
      const [first = '', ...rest] = cap(event.summary, SAID_LINES);
      return [{ label: 'story', tone, text: `${word}  ${what}  ${first}`.trimEnd() }, ...continued(rest, 'plain', '')];
    }
    case 'story.disturbed': {
      const [first = '', ...rest] = cap(event.summary, SAID_LINES);
      const lead: StoryLine = { label: 'story', tone: 'warn', text: `INTERRUPTED  ${event.stopReason}  ${first}` };
      return [lead, ...continued(rest, 'plain', '')];
    }
    case 'story.returned':
      return [{ label: 'story', tone: 'quiet', text: 'handed back: its worker stops' }];
    case 'retry.scheduled': {
      const wait = formatDuration(msBetween(event.at, event.notBefore));
      const text = `${event.nth} of ${event.of} in ${wait}: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'retry', tone: 'warn', text }];
    }
    case 'breaker.held': {
      const wait = formatDuration(msBetween(event.at, event.notBefore));
      const text = `${wait} for the breaker ${safeLine(event.key)}: ${safeLine(event.why, LINE_LENGTH)}`;
      return [{ label: 'waits', tone: 'warn', text }];
    }
    case 'tests.compared': {
      const lost = [...event.removed, ...event.skipped, ...event.emptied].length > 0;
      return lost ? [{ label: 'tests', tone: 'warn', text: testsText(event) }] : [];
    }
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
    case 'note.failed': {
      const [reason = ''] = cap(event.reason, 1);
      return [{ label: 'land', tone: 'warn', text: `warning: no note on ${short(event.commit)}: ${reason}` }];
    }
    case 'story.approved':
      return [{ label: 'story', tone: 'good', text: `APPROVED  ${short(event.commit)}${byWhom(event)}` }];
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

function commandLines(event: CommandResult & { log: string }, label: string): StoryLine[] {
  const output = continued(tail(event.tail ?? '', FAILED_OUTPUT_LINES), 'quiet', '  ');
  return [commandLine(event, label), ...output];
}

function commandLine(event: CommandResult & { log: string }, label: string): StoryLine {
  const command = safeLine(event.command);
  const took = formatDuration(event.ms);
  if (event.exitCode === 0) return { label, tone: 'good', text: `ok      ${took.padEnd(6)}  ${command}` };
  return {
    label,
    tone: 'bad',
    text: `FAILED  ${took.padEnd(6)}  ${command}  (${exitText(event.exitCode)}, ${event.log})`,
  };
}

function activityLines(activity: AgentActivity): StoryLine[] {
  switch (activity.kind) {
    case 'say':
      return spoken(activity.text, 'plain');
    case 'warn':
      return spoken(`warning: ${activity.text}`, 'warn');
    case 'run':
      return [{ label: 'agent', tone: 'strong', text: `$ ${safeLine(activity.command, LINE_LENGTH)}` }];
    case 'edit': {
      const change = { add: 'added', update: 'edited', delete: 'deleted' }[activity.change];
      return [{ label: 'agent', tone: 'plain', text: `${change.padEnd(7)} ${safeLine(activity.path)}` }];
    }
    case 'ran': {
      if (activity.exitCode === 0) return continued(shortOutput(activity), 'quiet', '  ');
      const text = `${exitText(activity.exitCode)}: ${safeLine(activity.command, FAILED_COMMAND_LENGTH)}`;
      const output = continued(tail(activity.output, FAILED_OUTPUT_LINES), 'quiet', '  ');
      return [{ label: 'agent', tone: 'warn', text }, ...output];
    }
  }
}

/** What the agent only read is counted: it wanted to know it, the reader of the log does not. */
function shortOutput({ command, output }: { command: string; output: string }): string[] {
  const count = cleanLines(output).length;
  if (count > OUTPUT_LINES && readsOnly(command)) return [`… ${count} lines`];
  return tail(output, OUTPUT_LINES);
}

function spoken(text: string, tone: Tone): StoryLine[] {
  const [first, ...rest] = cap(text, SAID_LINES);
  return first === undefined ? [] : [{ label: 'agent', tone, text: first }, ...continued(rest, tone, '')];
}

function continued(lines: string[], tone: Tone, indent: string): StoryLine[] {
  return lines.map((line) => ({ label: '', tone, text: `${indent}${line}` }));
}

/** The first lines of a text that people wrote or read. */
function cap(text: string, most: number): string[] {
  const lines = cleanLines(text);
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `… ${more(lines.length - most + 1)}`];
}

/** The last lines of a command's output: that is where its result is. */
function tail(text: string, most: number): string[] {
  const lines = cleanLines(text);
  if (lines.length <= most) return lines;
  return [`… ${more(lines.length - most + 1)}`, ...lines.slice(1 - most)];
}

function more(count: number): string {
  return `${count} more ${count === 1 ? 'line' : 'lines'}`;
}

function cleanLines(text: string): string[] {
  return safeText(text)
    .split('\n')
    .map((line) => clip(line.replace(/\t/g, '  ').trimEnd(), LINE_LENGTH))
    .filter((line) => line.trim() !== '');
}

function runLine(tone: Tone, word: string, text: string): TranscriptLine[] {
  return [{ story: '', label: 'run', tone, text: `${safeLine(word)}  ${safeLine(text, LINE_LENGTH)}` }];
}

function exitText(exitCode: number | undefined): string {
  return exitCode === undefined ? 'killed' : `exit ${exitCode}`;
}

function short(commit: string): string {
  return commit.slice(0, 7);
}
