import type { RunView } from '../api/operations/runs.ts';
import type { WorkerView } from '../api/operations/schemas.ts';
import type { ListedRun } from '../api/runs/limited-runs.ts';
import { failedNeeds, unmetNeeds } from '../core/run/run-dependencies.ts';
import { stateText } from '../core/listing/state-text.ts';
import { currentDecision, elapsedMs, type RunState } from '../core/run/state.ts';
import { formatElapsed } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Tone } from '../core/transcript/transcript-line.ts';

export function timeText(run: RunState, now: string): string {
  const ms = elapsedMs(run, now);
  return ms === undefined ? '-' : formatElapsed(ms);
}

export function stateTone(run: RunState): Tone {
  if (run.status !== 'ended') return run.paused !== undefined || failedNeeds(run).length > 0 ? 'warn' : 'plain';
  if (currentDecision(run)?.verdict === 'rejected') return 'bad';
  if (run.stopReason === 'SUCCESS') return 'good';
  return run.stopReason === 'NEEDS_HUMAN' ? 'warn' : 'bad';
}

/** A sign and the words of a state, so that neither needs color. */
export function stateCell(run: ListedRun): { text: string; tone: Tone } {
  return { text: `${stateMark(run)} ${stateText(run)}`, tone: stateTone(run) };
}

function stateMark(run: ListedRun): string {
  if (run.status === 'ended') {
    if (run.stopReason === 'SUCCESS') return '✓';
    return run.stopReason === 'NEEDS_HUMAN' ? '?' : run.stopReason === 'USER_ABORT' ? '-' : '✗';
  }
  if (run.paused !== undefined) return '‖';
  return run.stories.some(({ progress, waiting }) => progress === 'in_progress' && !waiting) ? '»' : '·';
}

/** `42s`, `5m`, `3h`, `12d` */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** A run, and how many workers would take its stories. */
type WaitingRun = Pick<RunView, 'state' | 'heldBy' | 'draining'> & Partial<Pick<RunView, 'workers'>>;

/** Shown if a run could continue but no worker is running. */
export const NO_WORKER = 'no worker is running: start one with `halo worker`';
/** Shown if a run could continue but all workers drain. */
const ALL_DRAIN = 'all workers are draining: resume one with `halo worker resume`, or start another one';

/** Why no worker would take a story; undefined if one would. */
export function missingWorker({ workers, draining = 0 }: Pick<RunView, 'workers' | 'draining'>): string | undefined {
  if (workers > 0) return undefined;
  return draining > 0 ? ALL_DRAIN : NO_WORKER;
}

/** Why an active run makes no progress at the moment, one sentence per reason; without `workers`, it names no missing worker. */
export function waitingFor({ state, workers = 1, draining = 0, heldBy }: WaitingRun): string[] {
  if (state.status === 'ended') return [];
  const { paused } = state;
  if (paused !== undefined) return [`paused by ${safeLine(paused.by)}: \`halo resume ${state.runId}\` resumes it`];
  const missing = canContinue(state) ? missingWorker({ workers, draining }) : undefined;
  const held = heldBy === undefined ? [] : [`${heldBy} is reached: the next story starts when another one ends`];
  return [...(missing === undefined ? [] : [missing]), ...held];
}

/** Whether a worker could execute something, now or later. */
export function canContinue(state: RunState): boolean {
  return state.status !== 'ended' && state.paused === undefined && unmetNeeds(state).length === 0;
}

/** What is left of a draining worker. */
export function drainText({ busy }: Pick<WorkerView, 'busy'>): string {
  if (busy === undefined || busy === 0) return 'drained';
  return `drains, ${busy} ${busy === 1 ? 'story' : 'stories'} left`;
}
