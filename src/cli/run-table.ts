import type { ListedRun } from '../api/operations.ts';
import { decisionOn } from '../core/decision.ts';
import { formatDuration, msBetween } from '../core/duration.ts';
import { failedNeeds, unmetNeeds } from '../core/needs.ts';
import { priorityText } from '../core/priority.ts';
import { isDone } from '../core/progress.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Tone } from '../core/transcript-line.ts';
import type { Cli } from './cli.ts';
import { table, type Cell } from './table.ts';

/** What to say when there are no runs. */
export const NO_RUNS = 'no runs yet: halo run prd.json';

/** Runs as a table, one a row. */
export function runTable(runs: ListedRun[], cli: Cli): string[] {
  const now = new Date().toISOString();
  const extra = extraColumns(runs);
  const heading = [
    'RUN',
    'STATE',
    'STORIES',
    'TIME',
    'STARTED',
    ...extra.map(({ name }) => name),
    'PROJECT',
    'REPOSITORY',
  ];
  const rows = runs.map((run) => runRow(run, { now, extra: extra.map(({ text }) => ({ text: text(run) })) }));
  return table([heading.map((text) => ({ text })), ...rows], { paint: cli.paint, width: widthOf(cli) });
}

/** Columns of the terminal; undefined where nothing needs to be cut. */
export function widthOf(cli: Cli): number | undefined {
  return cli.terminal.shown ? (cli.screen.columns ?? 80) : undefined;
}

interface Column {
  name: string;
  text: (run: RunState) => string;
}

/** Columns that only say something where runs differ. */
function extraColumns(runs: readonly RunState[]): Column[] {
  const columns: Column[] = [];
  if (runs.some(({ priority }) => priority !== 0))
    columns.push({ name: 'PRIORITY', text: ({ priority }) => priorityText(priority) ?? 'normal' });
  if (new Set(runs.map(({ user }) => user)).size > 1)
    columns.push({ name: 'USER', text: ({ user }) => safeLine(user ?? '-', 24) });
  return columns;
}

function runRow(run: ListedRun, { now, extra }: { now: string; extra: Cell[] }): Cell[] {
  return [
    { text: run.runId, tone: 'strong' },
    { text: stateText(run), tone: stateTone(run) },
    { text: storyCount(run) },
    { text: timeText(run, now) },
    { text: run.startedAt === undefined ? '-' : `${formatAge(msBetween(run.startedAt, now))} ago` },
    ...extra,
    { text: safeLine(run.project, 24) },
    { text: safeLine(run.repo.source) },
  ];
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
  return run.heldBy === undefined ? run.status : `held: ${run.heldBy}`;
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
