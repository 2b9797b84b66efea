import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { priorityText } from '../../core/run/priority.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { stringWidth as textWidth } from '../../lib/string-width.ts';
import type { Cli } from '../cli.ts';
import { GAP, table, terminalColumns, type Cell } from './table.ts';
import { ageText } from '../../view/ages.ts';
import { runWords, storyCount, timeText } from '../../view/run-words.ts';
import { costText } from '../../view/usage-text.ts';
import { canContinue, missingWorker } from '../../view/waiting.ts';

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
  if (width !== undefined && widthBeforeLast(columns, runs) + MIN_PATH_WIDTH >= width)
    columns = columns.map((column) => (column.name === 'STATE' ? { ...column, cell: shortState } : column));
  const heading = columns.map(({ name }) => ({ text: name }));
  return table([heading, ...runs.map(rowsOf)], { paint: cli.paint, width });
}

function shortState(run: ListedRun): Cell {
  const { short: text, tone } = runWords(run);
  return { text, tone };
}

function columnsOf(runs: readonly ListedRun[]): Column[] {
  const now = new Date().toISOString();
  const all: Column[] = [
    { name: 'RUN', cell: ({ runId }) => ({ text: runId, tone: 'strong' }) },
    { name: 'STATE', cell: runWords },
    { name: 'STORIES', cell: (run) => ({ text: storyCount(run) }) },
    { name: 'TIME', cell: (run) => ({ text: timeText(run, now) }) },
    { name: 'STARTED', cell: (run) => ({ text: startedText(run, now) }) },
    { name: 'PRIORITY', cell: ({ priority }) => ({ text: priorityText(priority) ?? 'normal' }) },
    { name: 'USER', cell: ({ user }) => ({ text: safeLine(user, 24) }) },
    { name: 'COST', cell: ({ usage }) => ({ text: costText(usage) }) },
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
  return startedAt === undefined ? '-' : ageText(startedAt, now);
}

/** Prints a note if one of these runs could continue but no worker is running. */
export async function noteMissingWorker(runIds: readonly string[], cli: Cli): Promise<void> {
  const views = await cli.withOperations((operations) =>
    Promise.all(runIds.map((runId) => operations.getRun({ runId }))),
  );
  const [missing] = views.filter(({ state }) => canContinue(state)).flatMap((view) => missingWorker(view) ?? []);
  if (missing !== undefined) await cli.note(cli.paintErr('warn', missing));
}

/** The runs that could continue, if a worker is running. */
export function runsToWorkOn(runs: readonly RunState[]): string[] {
  return runs.filter(canContinue).map(({ runId }) => runId);
}
