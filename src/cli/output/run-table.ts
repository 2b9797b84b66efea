import type { ListedRun } from '../../api/operations.ts';
import { formatUsd } from '../../core/budget.ts';
import { decisionOn } from '../../core/decision.ts';
import { formatDuration, msBetween } from '../../core/text/format-elapsed.ts';
import { failedNeeds, unmetNeeds } from '../../core/run/run-dependencies.ts';
import { priorityText } from '../../core/run/priority.ts';
import { isDone } from '../../core/progress.ts';
import type { RunState, StoryState } from '../../core/run-state.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { widthOf as textWidth } from '../../lib/width.ts';
import type { Cli } from '../cli.ts';
import { GAP, table, type Cell } from './table.ts';

/** What to say when there are no runs. */
export const NO_RUNS = 'no runs yet: halo run prd.json';

interface Column {
  name: string;
  cell: (run: ListedRun) => Cell;
}

/** Columns that go first where there is no room for all, the least useful one first. */
const DISPENSABLE = ['PROJECT', 'TIME', 'PRIORITY', 'USER', 'COST', 'STARTED', 'STORIES'];
/** Repositories are told apart by so many columns. */
const LEAST_PATH = 16;

/** Runs as a table, one a row, that fits the terminal. */
export function runTable(runs: ListedRun[], cli: Cli): string[] {
  const width = widthOf(cli);
  let columns = columnsOf(runs);
  const rowsOf = (run: ListedRun) => columns.map(({ cell }) => cell(run));
  for (const name of dispensable(runs)) {
    if (width === undefined || widthBeforeLast(columns, runs) + LEAST_PATH < width) break;
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
  // Each of them only says something where runs differ.
  const silent = [
    ...(runs.every(({ priority }) => priority === 0) ? ['PRIORITY'] : []),
    ...(runs.every(({ project, repo }) => project === '' || project === folderOf(repo.source)) ? ['PROJECT'] : []),
  ];
  return all.filter(({ name }) => !silent.includes(name));
}

/** One that is the same in all rows goes before all others. */
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

/** Columns of the terminal; undefined where nothing needs to be cut. */
export function widthOf(cli: Cli): number | undefined {
  return cli.terminal.shown ? (cli.screen.columns ?? 80) : undefined;
}

/** Stories that are done, of all. */
export function storyCount({ stories }: RunState): string {
  return `${stories.filter(isDone).length}/${stories.length}`;
}

export function timeText({ startedAt, endedAt }: RunState, now: string): string {
  return startedAt === undefined ? '-' : formatDuration(msBetween(startedAt, endedAt ?? now));
}

/** How a run stands, in a word or two. */
export function stateText(run: ListedRun): string {
  if (run.status === 'ended') return [run.stopReason ?? 'ended', ...afterwards(run)].join(', ');
  if (run.paused !== undefined) return run.stories.some(isUnderWay) ? 'pausing' : 'paused';
  if (failedNeeds(run).length > 0) return 'blocked';
  if (unmetNeeds(run).length > 0) return 'waits';
  if (run.heldBy !== undefined) return `held: ${run.heldBy}`;
  return run.status === 'running' && !run.stories.some(hasAttempt) ? 'waiting' : run.status;
}

/** What people did with all that an ended run made. */
function afterwards(run: RunState): string[] {
  if (run.landed !== undefined) return ['landed'];
  const verdict = decisionOn(run)?.verdict;
  if (verdict !== undefined) return [verdict];
  return run.needsApproval && run.tip !== run.repo.base ? ['to approve'] : [];
}

function isUnderWay({ progress, phase, waiting }: StoryState): boolean {
  return progress === 'in_progress' && phase !== undefined && waiting === undefined;
}

function hasAttempt({ progress, waiting }: StoryState): boolean {
  return progress === 'in_progress' && waiting === undefined;
}

export function stateTone(run: RunState): Tone {
  if (run.status !== 'ended') return run.paused !== undefined || failedNeeds(run).length > 0 ? 'warn' : 'plain';
  if (decisionOn(run)?.verdict === 'rejected') return 'bad';
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
