import { PROGRESS } from '../core/run/progress.ts';
import { workedMs, storyOf, type RunState, type StoryState } from '../core/run/state.ts';
import { formatElapsed } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Paint, TranscriptLine } from '../core/transcript/transcript-line.ts';
import { wrapIndented, truncateToWidth, padToWidth, stringWidth } from '../lib/string-width.ts';
import type { FailedAttemptRow } from './attempts.ts';
import { summaryLines } from './summary.ts';
import { usageText } from '../view/usage-text.ts';
import { storyCount } from '../view/run-words.ts';
import { attemptText, isWorking, storyFigures, storyWords } from '../view/story-words.ts';

export interface ViewInput {
  state: RunState;
  /** The newest lines of the run's transcript, oldest first. */
  recent: readonly TranscriptLine[];
  /** The failed attempts of all stories, oldest first. */
  failed?: readonly FailedAttemptRow[];
  /** The last output line of each running command. */
  output?: readonly LastOutput[];
  /** Messages that do not belong to the run, oldest first. */
  notes?: readonly string[];
  /** ISO 8601 */
  now: string;
  /** Size of the terminal, in characters. */
  width: number;
  height: number;
  paint: Paint;
  /** Absolute path of the run directory. */
  dir: string;
  /** False: shows no summary after the end of the run. */
  report?: boolean;
  /** Describes the keys while the run is followed. */
  keys?: string;
}

/** The last line of a command of setup or gates. */
export interface LastOutput {
  story: string;
  label: string;
  /** Its log, within the attempt. */
  log: string;
  text: string;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const MAX_WIDTH = 120;
const STATE_WIDTH = 20;
const TIME_WIDTH = 8;
const RECENT_LINES = 6;
const MAX_REASON_LENGTH = 600;
/** Narrower terminals show only the active step of each story. */
const MIN_ROOMY_WIDTH = 64;
const STORY_ID_WIDTH = 8;
/** Blank lines, the headline, and a line to spare. */
const FIXED_LINES = 5;
/** Lines for failed attempts if the stories leave little room. */
const FEW_ATTEMPTS = 3;
/** Lines for the reason of the newest failure. */
const REASON_LINES = 3;
/** Lines for messages that do not belong to the run. */
const NOTE_LINES = 4;
/** With fewer lines, the newest message replaces the footer. */
export const LOW_HEIGHT = 16;
/** With little room, stories take precedence over recent lines. */
const FEW_STORIES = 5;

/** One frame of the progress view, a string per line, no line wider than `width`. */
export function renderView(input: ViewInput): string[] {
  const width = Math.min(input.width, MAX_WIDTH) - 1;
  const { state, output = [] } = input;
  const foot = [...noteLines(input, width), ...footLines(input, width)];
  const rest = input.height - FIXED_LINES - foot.length;
  const failed = state.stories.flatMap((story) => failedBefore(story, input)).length;
  const needed = Math.min(state.stories.length, FEW_STORIES) + Math.min(failed, FEW_ATTEMPTS);
  const most = Math.max(0, Math.min(RECENT_LINES, rest - 1 - needed));
  const room = Math.max(3, rest - (most === 0 ? 0 : most + 1));
  const lines = [headLine(input, width), '', ...renderStories(input, { width, room }), ''];
  if (state.status === 'ended' && input.report === false) return ['', ...lines];
  if (state.status === 'ended') return ['', ...lines, ...summaryLines({ ...input, width }), ''];
  const several = state.stories.filter(({ progress }) => progress === 'in_progress').length > 1;
  const printed = output.map(({ story, label, text }): TranscriptLine => ({ story, label, tone: 'quiet', text }));
  const recent = (most === 0 ? [] : [...input.recent.slice(-RECENT_LINES), ...printed].slice(-most)).map((line) =>
    recentLine(line, { ...input, width, several }),
  );
  if (recent.length > 0) lines.push(...recent, '');
  return ['', ...lines, ...foot];
}

function headLine({ state, now, paint }: ViewInput, width: number): string {
  const elapsed = formatElapsed(workedMs(state, now) ?? 0);
  const took = `${storyCount(state)}  ${elapsed}`;
  const where = `${state.repo.source}${state.repo.branch === undefined ? '' : ` (${state.repo.branch})`}`;
  const project = truncateToWidth(safeLine(state.project), Math.max(8, Math.floor(width / 3)));
  const rest = width - 2 - took.length - 2;
  const left = padToWidth(`${project}  ${safeLine(where)}`, rest);
  return `  ${paint('strong', left.slice(0, project.length))}${paint('quiet', left.slice(project.length))}  ${took}`;
}

/** The stories that fit; unfinished ones are followed by their failed attempts. */
function renderStories(input: ViewInput, { width, room }: { width: number; room: number }): string[] {
  const { stories } = input.state;
  const idWidth = Math.min(16, Math.max(...stories.map((story) => Array.from(story.id).length), 1));
  // States are never cut.
  const stateWidth = Math.max(STATE_WIDTH, ...stories.map((story) => stringWidth(stateOf(story, input))));
  const line = (story: StoryState) => storyLine(story, { ...input, width, idWidth, stateWidth });
  if (input.state.status === 'ended') return stories.map(line);
  const failed = stories.flatMap((story) => failedBefore(story, input));
  const forFailed = Math.max(room - stories.length, Math.min(failed.length, FEW_ATTEMPTS, room - FEW_STORIES), 0);
  const { from, shown } = aroundCurrent(stories, room - forFailed);
  let left = forFailed;
  const lines = shown.flatMap((story) => {
    const notes = failedLines(failedBefore(story, input), input, { width, most: left });
    left -= notes.length;
    return [line(story), ...notes];
  });
  const below = stories.length - from - shown.length;
  return [
    ...(from > 0 ? [input.paint('quiet', `     … ${from} before`)] : []),
    ...lines,
    ...(below > 0 ? [input.paint('quiet', `     … ${below} more`)] : []),
  ];
}

/** The stories, or those around the running one if not all fit. */
function aroundCurrent(stories: readonly StoryState[], room: number): { from: number; shown: readonly StoryState[] } {
  if (stories.length <= room) return { from: 0, shown: stories };
  const [active, next] = (['in_progress', 'pending'] as const).map((progress) =>
    stories.findIndex((story) => story.progress === progress),
  );
  const current = [active, next].find((index) => index !== undefined && index >= 0) ?? stories.length;
  const count = Math.max(1, room - 2);
  const from = Math.max(0, Math.min(current - (count > 1 ? 1 : 0), stories.length - count));
  return { from, shown: stories.slice(from, from + count) };
}

/** The failed attempts of a story that is not done. */
function failedBefore({ id, progress, waiting }: StoryState, { failed = [] }: ViewInput): FailedAttemptRow[] {
  if (progress !== 'in_progress' && waiting === undefined) return [];
  return failed.filter(({ story }) => story === id);
}

/** One line per failed attempt, newest first if space is short; with more space, also why the newest failed. */
function failedLines(
  failed: readonly FailedAttemptRow[],
  { paint, state }: ViewInput,
  { width, most }: { width: number; most: number },
): string[] {
  const shown = failed.slice(Math.max(0, failed.length - most));
  const reasonWidth = Math.max(0, ...shown.map(({ reason }) => stringWidth(reason)));
  return shown.flatMap(({ story, attempt, reason, ms, summary }, index) => {
    const which = attemptText(storyOf(state, story), state, attempt);
    const time = formatElapsed(ms).padStart(TIME_WIDTH);
    const text = `${which}  ${padToWidth(reason, reasonWidth)}  ${time}  ${safeLine(summary, MAX_REASON_LENGTH)}`;
    const room = Math.max(1, width - 7);
    const lines = index < shown.length - 1 ? 1 : Math.min(REASON_LINES, most - index);
    const [first = '', ...rest] = wrapIndented(text, room);
    const all = lines > 1 ? [first, ...rest] : [text];
    const kept = [...all.slice(0, lines - 1), ...(all.length >= lines ? [all.slice(lines - 1).join(' ')] : [])];
    return kept.map((each) => paint('warn', `       ${truncateToWidth(each, room)}`.trimEnd()));
  });
}

function storyLine(story: StoryState, input: ViewInput & { idWidth: number; stateWidth: number }): string {
  const { paint, idWidth, stateWidth, width, now } = input;
  const { mark, tone } = storyWords(story, input.state, now);
  const sign = isWorking(story, input.state) ? spinner(now) : mark;
  const right =
    width >= MIN_ROOMY_WIDTH
      ? `${padToWidth(stateOf(story, input), stateWidth)}  ${timeOf(story, input).padStart(TIME_WIDTH)}`
      : (story.phase ?? '');
  const text = `${padToWidth(safeLine(story.id), idWidth)}  ${safeLine(story.title)}`;
  const left = padToWidth(text, Math.max(1, width - 5 - (right === '' ? 0 : 2 + stringWidth(right))));
  const isQuiet = PROGRESS[story.progress].tone === 'quiet';
  const line = `  ${paint(tone, sign)}  ${paint(isQuiet ? 'quiet' : 'plain', left)}`;
  return right === '' ? line.trimEnd() : `${line}  ${paint(tone, right)}`.trimEnd();
}

function spinner(now: string): string {
  return SPINNER[Math.floor(Date.parse(now) / 100) % SPINNER.length] ?? '⠋';
}

/** The state in its column; the commit of a story that has landed. */
function stateOf(story: StoryState, { now, state }: Pick<ViewInput, 'now' | 'state'>): string {
  const { text } = storyWords(story, state, now);
  if (story.progress === 'passed') return story.commit?.slice(0, 7) ?? text;
  const isAgain = isWorking(story, state) && story.attempts > 1;
  return isAgain ? `${text}, attempt ${storyFigures(story, state, now).ofLimit}` : text;
}

/** Empty before the first attempt. */
function timeOf(story: StoryState, { now, state }: Pick<ViewInput, 'now' | 'state'>): string {
  return story.startedAt === undefined ? '' : storyFigures(story, state, now).time;
}

/** A recent line; with the story id if several stories are running. */
function recentLine(line: TranscriptLine, { paint, width, several }: ViewInput & { several: boolean }): string {
  const whose = several ? `${padToWidth(line.story, STORY_ID_WIDTH)}  ` : '';
  const label = paint('quiet', `${whose}${line.label.padEnd(7)}`);
  const room = Math.max(1, width - 14 - whose.length);
  return `     ${label}  ${paint(line.tone, truncateToWidth(line.text, room))}`.trimEnd();
}

function noteLines({ notes = [], state, paint, height }: ViewInput, width: number): string[] {
  if (notes.length === 0 || state.status === 'ended') return [];
  const lines = notes.flatMap((note) => note.split('\n').flatMap((line) => wrapIndented(line, width - 2)));
  const shown = lines.slice(-NOTE_LINES).map((line) => paint('warn', `  ${line}`));
  return height < LOW_HEIGHT ? shown : [...shown, ''];
}

function footLines({ state, paint, keys, notes = [], height }: ViewInput, width: number): string[] {
  if (notes.length > 0 && height < LOW_HEIGHT) return [];
  const usage = usageText(state.usage);
  const lines = [`halo logs ${state.runId} -f${keys === undefined ? '' : `   ${keys}`}`];
  return [...(usage === '' ? [] : [usage]), ...lines].map((line) =>
    paint('quiet', `  ${truncateToWidth(line, width - 2)}`),
  );
}
