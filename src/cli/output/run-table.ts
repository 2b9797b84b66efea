import type { ListedRun } from '../../api/operations.ts';
import { formatUsd } from '../../core/budget.ts';
import { currentDecision, elapsedMs, isDone, type RunState, type StoryState } from '../../core/run/state.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { failedNeeds, unmetNeeds } from '../../core/run/run-dependencies.ts';
import { priorityText } from '../../core/run/priority.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { stringWidth as textWidth } from '../../lib/string-width.ts';
import type { Cli } from '../cli.ts';
import { GAP, table, type Cell } from './table.ts';

/** The message if there are no runs. */
export const NO_RUNS = 'No runs yet. Start one with `halo run prd.json`.';

interface Column {
  name: string;
  cell: (run: ListedRun) => Cell;
}

/** Columns that are omitted if the terminal is too narrow, the least useful one first. */
const DISPENSABLE = ['PROJECT', 'TIME', 'PRIORITY', 'USER', 'COST', 'STARTED', 'STORIES'];
/** The minimum width, in columns, that distinguishes repositories. */
const MIN_PATH_WIDTH = 16;

/** Runs as a table that fits the terminal, one run per row. */
export function runTable(runs: ListedRun[], cli: Cli): string[] {
  const width = terminalColumns(cli);
  let columns = columnsOf(runs);
  const rowsOf = (run: ListedRun) => columns.map(({ cell }) => cell(run));
  for (const name of dispensable(runs)) {
    if (width === undefined || widthBeforeLast(columns, runs) + MIN_PATH_WIDTH < width) break;
    columns = columns.filter((column) => column.name !== name);
  }
  const heading = columns.map(({ name }) => ({ text: name }));
  return table([heading, ...runs.map(rowsOf)], { paint: cli.paint, width });
}

function columnsOf(runs: readonly ListedRun[]): Column[] {
  const now = new Date().toISOString();
  const all: Column[] = [
    { name: 'RUN', cell: ({ runId }) => ({ text: runId, tone: 'strong' }) },
    { name: 'STATE', cell: (run) => ({ text: stateText(run), tone: stateTone(run) }) },
    { name: 'STORIES', cell: (run) => ({ text: storyCount(run) }) },
    { name: 'TIME', cell: (run) => ({ text: timeText(run, now) }) },
    { name: 'STARTED', cell: (run) => ({ text: startedText(run, now) }) },
    { name: 'PRIORITY', cell: ({ priority }) => ({ text: priorityText(priority) ?? 'normal' }) },
    { name: 'USER', cell: ({ user }) => ({ text: safeLine(user ?? '-', 24) }) },
    { name: 'COST', cell: ({ usage }) => ({ text: usage.costUsd === undefined ? '-' : formatUsd(usage.costUsd) }) },
    { name: 'PROJECT', cell: ({ project }) => ({ text: safeLine(project, 24) }) },
    { name: 'REPOSITORY', cell: ({ repo }) => ({ text: safeLine(repo.source), cut: 'start' }) },
  ];
  // These columns are only useful if runs differ in them.
  const silent = [
    ...(runs.every(({ priority }) => priority === 0) ? ['PRIORITY'] : []),
    ...(runs.every(({ project, repo }) => project === '' || project === folderOf(repo.source)) ? ['PROJECT'] : []),
  ];
  return all.filter(({ name }) => !silent.includes(name));
}

/** A column with the same value in all rows is omitted before all others. */
function dispensable(runs: readonly ListedRun[]): string[] {
  const same = [
    ...(runs.every(({ usage }) => usage.costUsd === undefined) ? ['COST'] : []),
    ...(new Set(runs.map(({ user }) => user)).size === 1 ? ['USER'] : []),
  ];
  return [...same, ...DISPENSABLE];
}

function widthBeforeLast(columns: readonly Column[], runs: readonly ListedRun[]): number {
  const widths = columns
    .slice(0, -1)
    .map(({ name, cell }) => Math.max(textWidth(name), ...runs.map((run) => textWidth(cell(run).text))));
  return widths.reduce((sum, each) => sum + each + GAP.length, 0);
}

function folderOf(source: string): string {
  return (
    source
      .replace(/\/+$|\.git$/g, '')
      .split('/')
      .at(-1) ?? ''
  );
}

function startedText({ startedAt }: RunState, now: string): string {
  return startedAt === undefined ? '-' : `${formatAge(msBetween(startedAt, now))} ago`;
}

/** Columns of the terminal; undefined if nothing needs to be truncated. */
export function terminalColumns(cli: Cli): number | undefined {
  return cli.terminal.shown ? (cli.screen.columns ?? 80) : undefined;
}

/** Number of stories that are done, and of all stories. */
export function storyCount({ stories }: RunState): string {
  return `${stories.filter(isDone).length}/${stories.length}`;
}

export function timeText(run: RunState, now: string): string {
  const ms = elapsedMs(run, now);
  return ms === undefined ? '-' : formatElapsed(ms);
}

/** The status of a run, in one or two words. */
export function stateText(run: ListedRun): string {
  if (run.status === 'ended') return [run.stopReason ?? 'ended', ...afterwards(run)].join(', ');
  if (run.paused !== undefined) return run.stories.some(isUnderWay) ? 'pausing' : 'paused';
  if (failedNeeds(run).length > 0) return 'blocked';
  if (unmetNeeds(run).length > 0) return 'waiting';
  if (run.heldBy !== undefined) return `waiting: ${run.heldBy}`;
  return run.status === 'running' && !run.stories.some(hasAttempt) ? 'waiting' : run.status;
}

/** Decisions of people on the result of an ended run. */
function afterwards(run: RunState): string[] {
  if (run.landed !== undefined) return ['landed'];
  const verdict = currentDecision(run)?.verdict;
  if (verdict !== undefined) return [verdict];
  return run.needsApproval && run.tip !== run.repo.base ? ['waiting for approval'] : [];
}

function isUnderWay({ progress, phase, waiting }: StoryState): boolean {
  return progress === 'in_progress' && phase !== undefined && waiting === undefined;
}

function hasAttempt({ progress, waiting }: StoryState): boolean {
  return progress === 'in_progress' && waiting === undefined;
}

export function stateTone(run: RunState): Tone {
  if (run.status !== 'ended') return run.paused !== undefined || failedNeeds(run).length > 0 ? 'warn' : 'plain';
  if (currentDecision(run)?.verdict === 'rejected') return 'bad';
  if (run.stopReason === 'SUCCESS') return 'good';
  return run.stopReason === 'NEEDS_HUMAN' ? 'warn' : 'bad';
}

/** `42s`, `5m`, `3h`, `12d` */
function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
