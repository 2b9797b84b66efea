import { formatDuration, msBetween } from '../core/text/format-elapsed.ts';
import { plainReason } from '../core/failure/plain-reason.ts';
import { isDone } from '../core/progress.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { findingsOf } from '../core/story-findings.ts';
import { rangesOf } from '../core/run/story-ranges.ts';
import type { Paint } from '../core/transcript/transcript-line.ts';
import { unmarkedAdvice } from '../core/unmarked-text.ts';
import { fitToWidth } from '../lib/width.ts';
import { wrapToWidth } from '../lib/wrap.ts';
import { nextSteps, stepLines } from './next-steps.ts';
import { usageText } from './usage-text.ts';

export interface VerdictInput {
  state: RunState;
  width: number;
  paint: Paint;
  dir: string;
}

/** A label, and what stands beside it with space between. */
type Row = [label: string, ...parts: string[]];

const LABEL_WIDTH = 8;
const INDENT = LABEL_WIDTH + 4;
const LEAST_ROOM = 20;
/** Enough for any sentence of halo's: nothing of a report is cut. */
const LONGEST = 4_000;
/** More stories that were not done are counted instead of listed. */
const MOST_NOT_DONE = 5;

/** How an ended run went: the verdict, what landed, what failed and why, and what to do next. Long texts are wrapped. */
export function verdictBlock({ state, width, paint, dir }: VerdictInput): string[] {
  const told = toldBelow(state);
  const ended = state.stopReason ?? 'UNKNOWN_ERROR';
  const reason = told?.stopReason === ended ? plainReason(ended, told.lastFailure) : ended;
  const took = formatDuration(msBetween(state.createdAt, state.endedAt ?? state.createdAt));
  const tone = ended === 'SUCCESS' ? 'good' : 'bad';
  const [head = '', ...more] = hanging(`${headline(state, told)}, ${took}`, reason.length + 4);
  const open = state.stories.filter(isOpen);
  const usage = usageText(state.usage);
  return [
    `  ${paint(tone, reason)}  ${head}`,
    ...more,
    '',
    ...state.stories.flatMap((story) => [...rowsOf(storyRow(story)), ...findingRows(story)]),
    ...rowsOf(notDone(open, state)),
    ...(state.unmarked === undefined ? [] : rowsOf([['prd', unmarkedAdvice(state.unmarked)]], 'warn')),
    ...rowsOf(usage === '' ? [] : [['used', usage]]),
    // A path that is broken is of no use.
    `${labelText('run')}${state.runId}  ${dir}`,
    ...stepLines(nextSteps(state), width - INDENT, paint).map(
      (line, index) => `${labelText(index === 0 ? 'next' : '')}${line}`,
    ),
  ];

  function labelText(label: string): string {
    return `  ${paint('quiet', fitToWidth(label, LABEL_WIDTH))}  `;
  }

  function hanging(text: string, indent: number): string[] {
    const [first = '', ...rest] = wrapToWidth(safeLine(text, LONGEST), Math.max(LEAST_ROOM, width - indent));
    const left = rest.length === 0 ? [] : wrapToWidth(rest.join(' '), Math.max(LEAST_ROOM, width - INDENT));
    return [first, ...left.map((line) => `${' '.repeat(INDENT)}${line}`)];
  }

  function rowsOf(rows: Row[], look: 'plain' | 'warn' = 'plain'): string[] {
    return rows.flatMap(([label, ...parts]) => {
      const text = parts.map((part) => safeLine(part, LONGEST)).join('  ');
      const lines = wrapToWidth(text, Math.max(LEAST_ROOM, width - INDENT));
      return lines.map((line, index) => `${labelText(index === 0 ? label : '')}${paint(look, line)}`.trimEnd());
    });
  }

  /** What its commit has that a reader may overlook, unless the reason to wait for a person says so already. */
  function findingRows(story: StoryState): string[] {
    if (story.progress !== 'passed' && story.progress !== 'needs_human') return [];
    const news = findingsOf(story).filter(({ text }) => story.summary?.includes(text) !== true);
    return rowsOf(
      news.map(({ label, text }) => [label, story.id, text]),
      'warn',
    );
  }
}

/** The story whose reason is that of the run: it stands with the story. */
function toldBelow({ detail = '', stories }: RunState): StoryState | undefined {
  return stories.find(
    ({ id, summary, progress }) =>
      (progress === 'failed' || progress === 'needs_human') &&
      summary !== undefined &&
      detail.startsWith(`${id}: ${summary}`),
  );
}

function headline({ detail = '', stories }: RunState, told: StoryState | undefined): string {
  if (told === undefined) return detail.replace(/\.$/, '');
  const tries = told.attempts > 1 ? ` in ${told.attempts} attempts` : '';
  const what = told.progress === 'failed' ? `failed${tries}` : 'waits for a person';
  return `${told.id} ${what}; ${stories.filter(isDone).length} of ${stories.length} stories done`;
}

function isOpen({ progress }: StoryState): boolean {
  return progress === 'pending' || progress === 'in_progress';
}

function notDone(open: readonly StoryState[], { stories }: RunState): Row[] {
  if (open.length <= MOST_NOT_DONE) return open.map(({ id, title }) => ['not done', id, title]);
  return [['not done', `${open.length} stories: ${rangesOf(open, stories)}`]];
}

function storyRow(story: StoryState): Row[] {
  const { id, title } = story;
  switch (story.progress) {
    case 'passed':
      return story.commit === undefined
        ? [['passed', id, 'no change needed', title]]
        : [['landed', story.commit.slice(0, 7), id, title]];
    case 'failed':
      return [['failed', id, plainReason(story.stopReason ?? 'UNKNOWN_ERROR', story.lastFailure), story.summary ?? '']];
    case 'needs_human':
      return [['human', id, story.summary ?? '']];
    case 'cancelled':
      return [['left out', id, title]];
    case 'pending':
    case 'in_progress':
    case 'done':
    case 'skipped':
      return [];
  }
}
