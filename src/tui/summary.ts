import { plainReason } from '../core/failure/plain-reason.ts';
import {
  decisiveStory,
  workedMs,
  isDone,
  isUnfinished,
  needsPerson,
  type RunState,
  type StoryState,
} from '../core/run/state.ts';
import { formatStoryRanges } from '../core/run/story-ranges.ts';
import { failedTestsLines } from '../core/test-report/failed-tests.ts';
import { formatElapsed } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Paint, Tone } from '../core/transcript/transcript-line.ts';
import { wrapIndented, padToWidth } from '../lib/string-width.ts';
import { nextSteps, type NextStep } from '../core/run/next-steps.ts';
import { stepLines } from './step-lines.ts';
import { listedFacts, outcomeFacts, runFacts, type FactKind } from '../view/facts.ts';
import { isIn, PROGRESS } from '../core/run/progress.ts';

export interface SummaryInput {
  state: RunState;
  width: number;
  paint: Paint;
  dir: string;
}

/** A label and its value, aligned. */
type Row = [label: string, ...parts: string[]];

const LABEL_WIDTH = 8;
const INDENT = LABEL_WIDTH + 4;
const MIN_TEXT_WIDTH = 20;
/** Longer than any message of halo, so that no report is truncated. */
const MAX_SENTENCE_LENGTH = 4_000;
/** The facts of the run that are shown. */
const OF_RUN: readonly FactKind[] = ['unmarked', 'used'];
/** More stories that were not done are counted instead of listed. */
const MAX_NOT_DONE = 5;

/** How an ended run went: the verdict, what landed, what failed and why, and what to do next. Long texts are wrapped. */
export function summaryLines({ state, width, paint, dir }: SummaryInput): string[] {
  const decisive = storyToName(state);
  const ended = state.stopReason ?? 'UNKNOWN_ERROR';
  const reason = decisive?.stopReason === ended ? plainReason(ended, decisive.lastFailure) : ended;
  const took = formatElapsed(workedMs(state, state.createdAt) ?? 0);
  const tone = ended === 'SUCCESS' ? 'good' : 'bad';
  const [head = '', ...more] = hanging(`${headline(state, decisive)}, ${took}`, reason.length + 4);
  const open = state.stories.filter(isUnfinished);
  return [
    `  ${paint(tone, reason)}  ${head}`,
    ...more,
    '',
    ...state.stories.flatMap((story) => [
      ...rowsOf(storyRow(story, state)),
      ...failedTestRows(story),
      ...findingRows(story),
    ]),
    ...rowsOf(notDone(open, state)),
    ...runFacts({ state }, state.endedAt ?? state.createdAt).flatMap((each) =>
      OF_RUN.includes(each.kind) ? rowsOf([[each.label, each.value]], each.tone) : [],
    ),
    // A wrapped path cannot be copied.
    `${labelText('run')}${state.runId}  ${dir}`,
    ...stepLines(stepsAfter(state), width - INDENT, paint).map(
      (line, index) => `${labelText(index === 0 ? 'next' : '')}${line}`,
    ),
  ];

  function labelText(label: string): string {
    return `  ${paint('quiet', padToWidth(label, LABEL_WIDTH))}  `;
  }

  function hanging(text: string, indent: number): string[] {
    const [first = '', ...rest] = wrapIndented(
      safeLine(text, MAX_SENTENCE_LENGTH),
      Math.max(MIN_TEXT_WIDTH, width - indent),
    );
    const left = rest.length === 0 ? [] : wrapIndented(rest.join(' '), Math.max(MIN_TEXT_WIDTH, width - INDENT));
    return [first, ...left.map((line) => `${' '.repeat(INDENT)}${line}`)];
  }

  function rowsOf(rows: Row[], look: Tone = 'plain'): string[] {
    return rows.flatMap(([label, ...parts]) => {
      const text = parts.map((part) => safeLine(part, MAX_SENTENCE_LENGTH)).join('  ');
      const lines = wrapIndented(text, Math.max(MIN_TEXT_WIDTH, width - INDENT));
      return lines.map((line, index) => `${labelText(index === 0 ? label : '')}${paint(look, line)}`.trimEnd());
    });
  }

  function failedTestRows({ progress, failedTests }: StoryState): string[] {
    if (progress !== 'failed' || failedTests === undefined) return [];
    const wide = Math.max(INDENT + MIN_TEXT_WIDTH, width);
    return failedTestsLines(failedTests).flatMap((line) => wrapIndented(`${' '.repeat(INDENT)}${line}`, wide));
  }

  /** Findings that a reviewer may overlook, unless the reason to wait for a person already names them. */
  function findingRows(story: StoryState): string[] {
    if (story.progress !== 'passed' && !needsPerson(story)) return [];
    const named: readonly string[] = story.held?.named ?? [];
    return listedFacts(story)
      .filter(({ kind }) => !named.includes(kind))
      .flatMap(({ label, value, tone }) => rowsOf([[label, story.id, value]], tone));
  }
}

/** The story whose reason is that of the run, and is printed with the story: these ends, and interruptions, say more. */
function storyToName(state: RunState): StoryState | undefined {
  const { stopReason } = state;
  const story = decisiveStory(state);
  const isWhole = stopReason !== 'PARTIAL' && stopReason !== 'CIRCUIT_OPEN' && story?.progress !== 'in_progress';
  return isWhole ? story : undefined;
}

function headline({ detail = '', stories }: RunState, decisive: StoryState | undefined): string {
  if (decisive === undefined) return detail.replace(/\.$/, '');
  const tries = decisive.attempts > 1 ? ` in ${decisive.attempts} attempts` : '';
  const waiting = decisive.held === undefined ? PROGRESS[decisive.progress].says : 'is waiting for approval';
  const what = decisive.progress === 'failed' ? `failed${tries}` : waiting;
  return `${decisive.id} ${what}; ${stories.filter(isDone).length} of ${stories.length} stories done`;
}

function notDone(open: readonly StoryState[], { stories }: RunState): Row[] {
  if (open.length <= MAX_NOT_DONE) return open.map(({ id, title }) => ['not done', id, title]);
  return [['not done', `${open.length} stories: ${formatStoryRanges(open, stories)}`]];
}

function storyRow(story: StoryState, { dry, planning }: RunState): Row[] {
  const { id, title } = story;
  switch (story.progress) {
    case 'passed':
      if (dry) return [[planning ? 'plan' : 'dry run', id, title]];
      return story.commit === undefined
        ? [['passed', id, 'no change needed', title]]
        : [['passed', story.commit.slice(0, 7), id, title]];
    case 'cancelled':
      return [[story.attempts > 0 ? 'cancelled' : 'left out', id, title]];
    default:
      return isIn('stuck', story) ? outcomeRows(story) : [];
  }
}

function outcomeRows(story: StoryState): Row[] {
  return outcomeFacts(story).map(({ kind, label, value }) =>
    kind === 'option' ? [label, value] : [label, story.id, value],
  );
}

/** `halo task` lands the result itself, after this summary. */
function stepsAfter(state: RunState): NextStep[] {
  const steps = nextSteps(state);
  return state.task ? steps.filter((step) => step.do !== 'land') : steps;
}
