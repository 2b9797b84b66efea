import { formatDuration, msBetween } from '../core/text/format-elapsed.ts';
import { plainReason } from '../core/failure/plain-reason.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Paint, Tone, TranscriptLine } from '../core/transcript/transcript-line.ts';
import { isDone } from '../core/progress.ts';
import { cutToWidth, fitToWidth } from '../lib/width.ts';
import { wrapToWidth } from '../lib/wrap.ts';
import { usageText } from './usage-text.ts';
import { verdictBlock } from './summary.ts';

export interface ViewInput {
  state: RunState;
  /** The newest lines of the run's transcript, oldest first. */
  recent: readonly TranscriptLine[];
  /** ISO 8601 */
  now: string;
  /** Size of the terminal, in characters. */
  width: number;
  height: number;
  paint: Paint;
  /** Absolute path of the run directory. */
  dir: string;
  /** False: no verdict is shown when it has ended. */
  report?: boolean;
  /** What the keys do while it is followed. */
  keys?: string;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const MOST_WIDTH = 120;
const STATE_WIDTH = 20;
const TIME_WIDTH = 8;
const RECENT_LINES = 6;
const MOST_REASON = 600;
const WHOSE_WIDTH = 8;
/** Blank lines and the headline, and the line that log-update keeps free. */
const FIXED_LINES = 5;
/** Stories come before recent lines where there is little room. */
const FEW_STORIES = 5;

/** One frame of the progress view, a string per line, no line wider than `width`. */
export function view(input: ViewInput): string[] {
  const width = Math.min(input.width, MOST_WIDTH) - 1;
  const { state } = input;
  const foot = footLines(input, width);
  const rest = input.height - FIXED_LINES - foot.length;
  const most = Math.max(0, Math.min(RECENT_LINES, rest - 1 - Math.min(state.stories.length, FEW_STORIES)));
  const room = Math.max(3, rest - (most === 0 ? 0 : most + 1));
  const lines = [headLine(input, width), '', ...storyLines(input, { width, room }), ''];
  if (state.status === 'ended' && input.report === false) return ['', ...lines];
  if (state.status === 'ended') return ['', ...lines, ...verdictBlock({ ...input, width }), ''];
  const several = state.stories.filter(({ progress }) => progress === 'in_progress').length > 1;
  const recent = (most === 0 ? [] : input.recent.slice(-most)).map((line) =>
    recentLine(line, { ...input, width, several }),
  );
  if (recent.length > 0) lines.push(...recent, '');
  return ['', ...lines, ...foot];
}

function headLine({ state, now, paint }: ViewInput, width: number): string {
  const elapsed = formatDuration(msBetween(state.createdAt, state.endedAt ?? now));
  const took = `${state.stories.filter(isDone).length}/${state.stories.length}  ${elapsed}`;
  const where = `${state.repo.source}${state.repo.branch === undefined ? '' : ` (${state.repo.branch})`}`;
  const project = cutToWidth(safeLine(state.project), Math.max(8, Math.floor(width / 3)));
  const rest = width - 2 - took.length - 2;
  const left = fitToWidth(`${project}  ${safeLine(where)}`, rest);
  return `  ${paint('strong', left.slice(0, project.length))}${paint('quiet', left.slice(project.length))}  ${took}`;
}

/** The stories, or those around the one under way when there are more than fit. */
function storyLines(input: ViewInput, { width, room }: { width: number; room: number }): string[] {
  const { stories } = input.state;
  const idWidth = Math.min(16, Math.max(...stories.map((story) => Array.from(story.id).length), 1));
  const line = (story: StoryState) => storyLine(story, { ...input, width, idWidth });
  if (input.state.status === 'ended') return stories.map(line);
  if (stories.length <= room) {
    let left = room - stories.length;
    return stories.flatMap((story) => {
      const notes = failureLines(story, input, width).slice(0, left);
      left -= notes.length;
      return [line(story), ...notes];
    });
  }
  const [active, next] = (['in_progress', 'pending'] as const).map((progress) =>
    stories.findIndex((story) => story.progress === progress),
  );
  const current = [active, next].find((index) => index !== undefined && index >= 0) ?? stories.length;
  const count = Math.max(1, room - 2);
  const from = Math.max(0, Math.min(current - (count > 1 ? 1 : 0), stories.length - count));
  const shown = stories.slice(from, from + count);
  const below = stories.length - from - shown.length;
  return [
    ...(from > 0 ? [input.paint('quiet', `     … ${from} before`)] : []),
    ...shown.map(line),
    ...(below > 0 ? [input.paint('quiet', `     … ${below} more`)] : []),
  ];
}

/** Why the attempt before this one failed, for as long as the story is not done; wrapped, where there is room. */
function failureLines({ hint, progress, waiting }: StoryState, { paint }: ViewInput, width: number): string[] {
  if (hint === undefined || (progress !== 'in_progress' && waiting === undefined)) return [];
  const text = safeLine(`attempt ${hint.attempt} failed: ${hint.reason}  ${hint.summary}`, MOST_REASON);
  return wrapToWidth(text, Math.max(1, width - 7)).map((each) => paint('warn', `       ${each}`));
}

function storyLine(story: StoryState, input: ViewInput & { idWidth: number }): string {
  const { paint, idWidth, width, now } = input;
  const { mark, tone } = markOf(story, now);
  const right = `${fitToWidth(rightOf(story, input), STATE_WIDTH)}  ${timeOf(story, now).padStart(TIME_WIDTH)}`;
  const roomy = width >= 64;
  const text = `${fitToWidth(safeLine(story.id), idWidth)}  ${safeLine(story.title)}`;
  const left = fitToWidth(text, Math.max(1, width - 5 - (roomy ? 2 + STATE_WIDTH + 2 + TIME_WIDTH : 0)));
  const quiet = story.progress === 'pending' || story.progress === 'done' || story.progress === 'skipped';
  const line = `  ${paint(tone, mark)}  ${paint(quiet ? 'quiet' : 'plain', left)}`;
  return roomy ? `${line}  ${paint(tone, right)}`.trimEnd() : line.trimEnd();
}

function markOf(story: StoryState, now: string): { mark: string; tone: Tone } {
  if (story.waiting !== undefined) return { mark: '…', tone: 'warn' };
  switch (story.progress) {
    case 'passed':
      return { mark: '✓', tone: 'good' };
    case 'failed':
      return { mark: '✗', tone: 'bad' };
    case 'needs_human':
      return { mark: '?', tone: 'warn' };
    case 'in_progress':
      return { mark: SPINNER[Math.floor(Date.parse(now) / 100) % SPINNER.length] ?? '⠋', tone: 'strong' };
    case 'done':
      return { mark: '✓', tone: 'quiet' };
    case 'skipped':
    case 'cancelled':
      return { mark: '-', tone: 'quiet' };
    case 'pending':
      return { mark: '·', tone: 'quiet' };
  }
}

function rightOf(story: StoryState, { now, state }: Pick<ViewInput, 'now' | 'state'>): string {
  if (story.waiting !== undefined) return againText(msBetween(now, story.waiting.notBefore));
  switch (story.progress) {
    case 'passed':
      return story.commit?.slice(0, 7) ?? 'passed';
    case 'failed':
      return plainReason(story.stopReason ?? 'UNKNOWN_ERROR', story.lastFailure);
    case 'needs_human':
      return story.stopReason ?? story.progress;
    case 'in_progress':
      return `${story.phase ?? 'starting'}${story.attempts > 1 ? `, attempt ${triesOf(story)}/${state.maxAttempts}` : ''}`;
    case 'done':
      return 'done before';
    case 'skipped':
    case 'cancelled':
      return story.progress;
    case 'pending':
      return story.approved === undefined ? '' : 'approved';
  }
}

/** Its attempt by the count of those it may use: others cost none, or were made up for by a retry. */
function triesOf({ attempts, conflicts, spent = 0 }: StoryState): number {
  return Math.max(1, attempts - conflicts - spent);
}

/** When a story that waits is tried again, in whole seconds. */
function againText(ms: number): string {
  return ms > 0 ? `again in ${formatDuration(Math.ceil(ms / 1000) * 1000).replace('.0s', 's')}` : 'again at once';
}

function timeOf(story: StoryState, now: string): string {
  if (story.startedAt === undefined) return '';
  const until = story.progress === 'in_progress' ? now : (story.endedAt ?? now);
  return formatDuration(msBetween(story.startedAt, until));
}

/** With several stories under way, a line says whose it is. */
function recentLine(line: TranscriptLine, { paint, width, several }: ViewInput & { several: boolean }): string {
  const whose = several ? `${fitToWidth(line.story, WHOSE_WIDTH)}  ` : '';
  const label = paint('quiet', `${whose}${line.label.padEnd(7)}`);
  const room = Math.max(1, width - 14 - whose.length);
  return `     ${label}  ${paint(line.tone, cutToWidth(line.text, room))}`.trimEnd();
}

function footLines({ state, paint, keys = 'Ctrl-C stops it' }: ViewInput, width: number): string[] {
  const usage = usageText(state.usage);
  const lines = [`halo logs ${state.runId} -f   ${keys}`];
  return [...(usage === '' ? [] : [usage]), ...lines].map((line) => paint('quiet', `  ${cutToWidth(line, width - 2)}`));
}
