import { breakerName, resetCommand } from '../../core/failure/breaker.ts';
import type { ListedRun, RunView } from '../../api/operations.ts';
import { formatDuration, msBetween } from '../../core/text/format-elapsed.ts';
import { needsText } from '../../core/run/run-dependencies.ts';
import { plainReason } from '../../core/failure/plain-reason.ts';
import { priorityText } from '../../core/run/priority.ts';
import { isDone, isUnchanged } from '../../core/progress.ts';
import { restoredText } from '../../core/review/restored-paths.ts';
import type { RunState, StoryProgress, StoryState } from '../../core/run-state.ts';
import { safeLine } from '../../core/safe-text.ts';
import { findingsOf } from '../../core/story-findings.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import { unmarkedAdvice } from '../../core/unmarked-text.ts';
import { wrapToWidth } from '../../lib/wrap.ts';
import { nextSteps, stepLines } from '../../tui/next-steps.ts';
import { usageText } from '../../tui/usage-text.ts';
import { waitingFor } from '../waiting-text.ts';
import type { Cli } from '../cli.ts';
import { stateText, stateTone, widthOf } from './run-table.ts';
import { table, type Cell } from './table.ts';

const TONES: Record<StoryProgress, Tone> = {
  pending: 'quiet',
  in_progress: 'strong',
  passed: 'good',
  failed: 'bad',
  needs_human: 'warn',
  done: 'quiet',
  skipped: 'quiet',
  cancelled: 'warn',
};

const MOST_PATHS = 20;
/** Enough for any sentence of halo's. */
const LONGEST = 4_000;

/** Everything about one run on a page. */
export function statusPage(view: RunView, cli: Cli): string[] {
  const now = new Date().toISOString();
  const { paint } = cli;
  const { state, dir } = view;
  const facts: [string, string][] = [
    ['run', state.runId],
    ['state', standing(view, paint)],
    ...row('project', safeLine(state.project)),
    ['repo', safeLine(`${state.repo.source}${state.repo.branch === undefined ? '' : ` (${state.repo.branch})`}`)],
    ['prd', safeLine(state.prdPath)],
    ...unmarkedRow(state, paint),
    ...settingsRows(state),
    ...decisionRow(state),
    ...waitingFor(view).map((text): [string, string] => ['waiting', paint('warn', text)]),
    ...submissionFacts(state),
    ['time', state.startedAt === undefined ? '-' : formatDuration(msBetween(state.startedAt, state.endedAt ?? now))],
    ...row('used', usageText(state.usage)),
    ...pauseRow({ state }, now),
    ...row('commits', commitsText({ state })),
    ['files', dir],
  ];
  const heading = ['STORY', 'VERDICT', 'ATTEMPTS', 'TIME', 'COMMIT', 'TITLE'].map((text) => ({ text }));
  const rows = [heading, ...state.stories.map((story) => storyRow(story, state, now))];
  const steps = stepLines(nextSteps(state), widthOf(cli) ?? Number.POSITIVE_INFINITY, paint);
  return [
    ...facts.flatMap(([name, text]) => wrapFact(`${paint('quiet', name.padEnd(8))} ${text}`, cli)),
    '',
    ...table(rows, { paint, width: widthOf(cli) }),
    ...[
      ...findingLines(state.stories, paint),
      ...treeLines(state.stories, paint),
      ...waitingLines(state.stories, paint),
      ...retryLines(state.stories, { paint, now }),
    ].flatMap((line) => wrapFact(line, cli)),
    ...(steps.length > 0 ? [''] : []),
    ...steps,
  ];
}

const LABEL_WIDTH = 9;

/** On a terminal a long text continues below its own beginning; a path keeps its line. */
function wrapFact(line: string, cli: Cli): string[] {
  const width = widthOf(cli);
  if (width === undefined) return [line];
  const [first = '', ...rest] = wrapToWidth(line, width);
  if (rest.length === 0 || !rest.join('').includes(' ')) return [line];
  const left = wrapToWidth(rest.join(' ').trim(), Math.max(LABEL_WIDTH, width - LABEL_WIDTH));
  return [first, ...left.map((each) => `${' '.repeat(LABEL_WIDTH)}${each}`)];
}

/** Nothing for what there is nothing to say of. */
function row(name: string, text: string): [string, string][] {
  return text === '' ? [] : [[name, text]];
}

/** The word of `halo ls`, and what there is to say about it. */
function standing({ state, heldBy }: Pick<RunView, 'state' | 'heldBy'>, paint: Paint): string {
  const listed: ListedRun = { ...state, ...(heldBy === undefined ? {} : { heldBy }) };
  const word = paint(stateTone(state), stateText(listed));
  const needs = state.status === 'ended' ? undefined : needsText(state);
  if (needs !== undefined && state.paused === undefined) return paint(stateTone(state), safeLine(needs));
  const detail = needs ?? state.detail;
  return detail === undefined ? word : `${word}  ${safeLine(detail, LONGEST)}`;
}

/** What landed without the PRD file saying so. */
function unmarkedRow({ unmarked }: RunState, paint: Paint): [string, string][] {
  return unmarked === undefined ? [] : [['unmarked', paint('warn', safeLine(unmarkedAdvice(unmarked), 500))]];
}

/** Settings that people gave it since it was made. */
function settingsRows({ reconfigured = [] }: RunState): [string, string][] {
  return reconfigured.map(({ by, at, set }) => [
    'settings',
    safeLine(`${set.join(', ')} (by ${by}, ${at.slice(0, 16)}Z)`, LONGEST),
  ]);
}

/** A person's word on all that the run made. */
function decisionRow({ decision, tip, status }: RunState): [string, string][] {
  if (decision === undefined || decision.tip !== tip || status !== 'ended') return [];
  const { verdict, by, reason } = decision;
  return [['decided', safeLine(`${verdict} by ${by}${reason === undefined ? '' : `: ${reason}`}`)]];
}

/** Whose run it is, and what of its place among the others is not as usual. */
function submissionFacts({ user, priority, batch }: RunState): [string, string][] {
  const level = priorityText(priority);
  return [
    ...(user === undefined ? [] : [['user', safeLine(user)] as [string, string]]),
    ...(level === undefined ? [] : [['priority', level] as [string, string]]),
    ...(batch === undefined ? [] : [['batch', `${batch.id}, as ${safeLine(batch.name)}`] as [string, string]]),
  ];
}

/** While requests for a model are held back. */
function pauseRow({ state }: Pick<RunView, 'state'>, now: string): [string, string][] {
  const { modelPause: pause, status } = state;
  if (pause === undefined || pause.until <= now || status === 'ended') return [];
  const why = pause.why === 'rate' ? 'the configured rate is reached' : 'its provider wants a pause';
  return [['waits', `requests for ${safeLine(pause.model)} until ${pause.until.slice(11, 19)} UTC: ${why}`]];
}

/** Stories whose setup or gates changed the tree. */
function treeLines(stories: StoryState[], paint: Paint): string[] {
  const lines = stories.flatMap(({ id, restored }) => {
    if (restored === undefined) return [];
    const text = `undone before a gate what setup or earlier gates changed: ${restoredText(restored)}`;
    return [`${paint('warn', 'tree')}     ${safeLine(id)}: ${text}`];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Who waits for a person, and why. */
function waitingLines(stories: StoryState[], paint: Paint): string[] {
  const lines = stories.flatMap(({ id, held }) => {
    if (held === undefined) return [];
    const shown = held.paths.slice(0, MOST_PATHS).map((path) => `  ${safeLine(path)}`);
    const more = held.paths.length - shown.length;
    return [
      `${paint('warn', 'waits')}    ${safeLine(id)} for approval of ${held.commit.slice(0, 7)}${held.paths.length === 0 ? '' : ', which changes protected paths:'}`,
      ...shown.map((line) => `       ${line}`),
      ...(more > 0 ? [`         and ${more} more`] : []),
    ];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** What a reader of their changes may overlook. */
function findingLines(stories: StoryState[], paint: Paint): string[] {
  const lines = stories.flatMap((story) =>
    findingsOf(story).map(({ label, text }) => `${paint('warn', label.padEnd(8))} ${safeLine(story.id)}: ${text}`),
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

/** What is tried again, and when. */
function retryLines(stories: StoryState[], { paint, now }: { paint: Paint; now: string }): string[] {
  const lines = stories.flatMap(({ id, progress, waiting }) => {
    if (waiting === undefined || progress === 'passed') return [];
    const left = msBetween(now, waiting.notBefore);
    const when = left > 0 ? `in ${formatDuration(left)}` : 'as soon as a worker takes it';
    const what =
      waiting.breaker === undefined
        ? `retry ${waiting.nth ?? 1} of ${waiting.of ?? 1} ${when}`
        : `for the breaker of ${safeLine(breakerName(waiting.breaker))}, which \`${resetCommand(waiting.breaker)}\` closes, asks again ${when}`;
    return [`${paint('warn', 'waits')}    ${safeLine(id)}: ${what}: ${safeLine(waiting.why, LONGEST)}`];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function commitsText({ state }: Pick<RunView, 'state'>): string {
  if (state.tip === state.repo.base) return '';
  const range = `${state.repo.base.slice(0, 7)}..${state.tip.slice(0, 7)} on halo/${state.runId}`;
  return state.landed === undefined ? range : `${range}, landed on ${safeLine(state.landed.branch)}`;
}

function storyRow(story: StoryState, run: RunState, now: string): Cell[] {
  const until = story.progress === 'in_progress' ? now : (story.endedAt ?? now);
  return [
    { text: safeLine(story.id, 24), tone: 'strong' },
    { text: progressText(story, run), tone: TONES[story.progress] },
    { text: story.attempts === 0 ? '-' : String(story.attempts) },
    {
      text:
        story.startedAt === undefined || story.progress === 'pending'
          ? '-'
          : formatDuration(msBetween(story.startedAt, until)),
    },
    { text: story.commit?.slice(0, 7) ?? '-' },
    { text: safeLine(story.title) },
  ];
}

function progressText(story: StoryState, run: RunState): string {
  switch (story.progress) {
    case 'in_progress':
      return story.phase ?? (run.paused?.now === true ? 'interrupted' : 'starting');
    case 'failed':
      return `failed: ${plainReason(story.stopReason ?? 'UNKNOWN_ERROR', story.lastFailure)}`;
    case 'needs_human':
      return 'needs human';
    case 'done':
      return 'done before';
    case 'pending':
      return story.approved === undefined ? pendingText(story, run) : 'approved, not landed';
    case 'passed':
      return isUnchanged(story) ? 'no change needed' : story.progress;
    case 'skipped':
    case 'cancelled':
      return story.progress;
  }
}

/** What it still needs, cut to a table's cell. */
function pendingText({ dependsOn }: StoryState, { stories }: RunState): string {
  const missing = stories.filter((story) => dependsOn.includes(story.id) && !isDone(story));
  return missing.length === 0 ? 'pending' : safeLine(`needs ${missing.map(({ id }) => id).join(', ')}`, 32);
}
