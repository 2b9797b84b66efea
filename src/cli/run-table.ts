import { formatDuration, msBetween } from '../core/duration.ts';
import type { RunState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Tone } from '../core/transcript.ts';
import type { Cli } from './cli.ts';
import { table, type Cell } from './table.ts';

/** What to say when there are no runs. */
export const NO_RUNS = 'no runs yet: halo run prd.json';

/** Runs as a table, one a row. */
export function runTable(runs: RunState[], cli: Cli): string[] {
  const now = new Date().toISOString();
  const heading = ['RUN', 'STATE', 'STORIES', 'TIME', 'STARTED', 'PROJECT', 'REPOSITORY'].map((text) => ({ text }));
  return table([heading, ...runs.map((run) => runRow(run, now))], { paint: cli.paint, width: widthOf(cli) });
}

/** Columns of the terminal; undefined where nothing needs to be cut. */
export function widthOf(cli: Cli): number | undefined {
  return cli.terminal.shown ? (cli.stdout.columns ?? 80) : undefined;
}

function runRow(run: RunState, now: string): Cell[] {
  const landed = run.stories.filter(({ progress }) => progress === 'passed' || progress === 'done').length;
  return [
    { text: run.runId, tone: 'strong' },
    { text: stateText(run), tone: stateTone(run) },
    { text: `${landed}/${run.stories.length}` },
    { text: run.startedAt === undefined ? '-' : formatDuration(msBetween(run.startedAt, run.endedAt ?? now)) },
    { text: run.startedAt === undefined ? '-' : `${formatAge(msBetween(run.startedAt, now))} ago` },
    { text: safeLine(run.project, 24) },
    { text: safeLine(run.repo.source) },
  ];
}

function stateText(run: RunState): string {
  if (run.status !== 'ended') return run.status;
  return `${run.stopReason ?? 'ended'}${run.landed === undefined ? '' : ', landed'}`;
}

export function stateTone(run: RunState): Tone {
  if (run.status !== 'ended') return 'plain';
  if (run.stopReason === 'SUCCESS') return 'good';
  return run.stopReason === 'NEEDS_HUMAN' ? 'warn' : 'bad';
}

/** `42s`, `5m`, `3h`, `12d` */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
