import { formatDuration, msBetween } from '../core/duration.ts';
import { hiddenText } from '../core/hidden-places.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Paint } from '../core/transcript-line.ts';
import { unmarkedAdvice } from '../core/unmarked-text.ts';
import { cutToWidth, fitToWidth, wrapToWidth } from '../lib/width.ts';
import { nextSteps } from './next-steps.ts';
import { usageText } from './usage-text.ts';

export interface VerdictInput {
  state: RunState;
  width: number;
  paint: Paint;
  dir: string;
}

/** How an ended run went: the verdict, what landed, what failed and why, and what to do next. */
export function verdictBlock({ state, width, paint, dir }: VerdictInput): string[] {
  const reason = state.stopReason ?? 'UNKNOWN_ERROR';
  const took = formatDuration(msBetween(state.createdAt, state.endedAt ?? state.createdAt));
  const tone = reason === 'SUCCESS' ? 'good' : 'bad';
  const detail = cutToWidth(`${safeLine(state.detail ?? '')}, ${took}`, width - 2 - reason.length - 2);
  const rows: [string, string][] = state.stories.flatMap((story) => [...storyRow(story), ...hiddenRow(story)]);
  if (state.unmarked !== undefined) rows.push(...unmarkedRows(unmarkedAdvice(state.unmarked)));
  const usage = usageText(state.usage);
  if (usage !== '') rows.push(['used', usage]);
  rows.push(['run', `${state.runId}  ${dir}`]);
  const steps = nextSteps(state);
  const stepWidth = Math.max(...steps.map((step) => step.command.length), 0);
  steps.forEach((step, index) =>
    rows.push([index === 0 ? 'next' : '', `${step.command.padEnd(stepWidth)}  ${paint('quiet', step.why)}`]),
  );
  return [
    `  ${paint(tone, reason)}  ${detail}`,
    '',
    ...rows.map(([label, text]) => `  ${paint('quiet', fitToWidth(label, 8))}  ${fit(label, text, width)}`.trimEnd()),
  ];

  function unmarkedRows(text: string): [string, string][] {
    const lines = wrapToWidth(safeLine(text, 500), Math.max(20, width - 12));
    return lines.map((line, index) => [index === 0 ? 'prd' : '', paint('warn', line)]);
  }

  /** A command or a path that is cut is of no use: only stories are. */
  function fit(label: string, text: string, most: number): string {
    return STORY_LABELS.includes(label) ? cutToWidth(text, most - 12) : text;
  }
}

const STORY_LABELS = ['landed', 'passed', 'failed', 'human', 'left out', 'not done'];

/** What its commit adds that people do not see. */
function hiddenRow({ id, hidden, progress }: StoryState): [string, string][] {
  if (hidden === undefined || (progress !== 'passed' && progress !== 'needs_human')) return [];
  return [['hidden', `${safeLine(id)}  ${hiddenText(hidden)}`]];
}

function storyRow(story: StoryState): [string, string][] {
  const id = safeLine(story.id);
  switch (story.progress) {
    case 'passed':
      return story.commit === undefined
        ? [['passed', `${id}  no change needed  ${safeLine(story.title)}`]]
        : [['landed', `${story.commit.slice(0, 7)}  ${id}  ${safeLine(story.title)}`]];
    case 'failed':
      return [['failed', `${story.stopReason ?? ''}  ${id}  ${safeLine(story.summary ?? '')}`]];
    case 'needs_human':
      return [['human', `${id}  ${safeLine(story.summary ?? '')}`]];
    case 'cancelled':
      return [['left out', `${id}  ${safeLine(story.title)}`]];
    case 'pending':
    case 'in_progress':
      return [['not done', `${id}  ${safeLine(story.title)}`]];
    case 'done':
    case 'skipped':
      return [];
  }
}
