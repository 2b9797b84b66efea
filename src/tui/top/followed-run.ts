import { attemptAfter, type AttemptRecord } from '../../core/journal/attempts.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run/state.ts';
import type { Extent } from '../../core/transcript/excerpt.ts';
import type { TranscriptLine } from '../../core/transcript/transcript-line.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';

/** Which lines of a log are shown. */
export const LOG_KINDS = ['all', 'problems', 'agent', 'commands', 'progress'] as const;
export type LogKind = (typeof LOG_KINDS)[number];

/** A line of the log, numbered from 0 in the order of the journal. */
export interface LogLine extends TranscriptLine {
  number: number;
  at: string;
  kind: Exclude<LogKind, 'all' | 'problems'>;
}

/** What the events of a run say, as far as they were received. */
export interface FollowedRun {
  runId: string;
  state?: RunState;
  prd?: Prd;
  /** The newest lines, oldest first. */
  lines: readonly LogLine[];
  /** The number of lines so far, with those that are not kept. */
  count: number;
  /** The newest attempt at each story. */
  attempts: Readonly<Record<string, AttemptRecord>>;
  seq: number;
}

/** Older lines are dropped: `halo logs` has all of them. */
const MAX_LINES = 5000;
const EXTENT: Extent = { said: 40, failedOutput: 40, output: 10, line: 1000 };

export function followNothing(runId: string): FollowedRun {
  return { runId, lines: [], count: 0, attempts: {}, seq: 0 };
}

/** Adds events; those that were received before are ignored. */
export function addEvents(run: FollowedRun, events: readonly JournalEvent[]): FollowedRun {
  let { state, prd, seq, attempts } = run;
  const lines: LogLine[] = [];
  for (const event of events) {
    if (event.seq <= seq) continue;
    seq = event.seq;
    state = applyEvent(state, event);
    if (event.type === 'run.created' || event.type === 'run.replanned') prd = event.prd;
    attempts = attemptsAfter(attempts, event);
    for (const line of describeEvent(event, { runId: run.runId, extent: EXTENT }))
      lines.push({ ...line, number: run.count + lines.length, at: event.at, kind: kindOf(event) });
  }
  return {
    ...run,
    ...(state && { state }),
    ...(prd && { prd }),
    seq,
    attempts,
    lines: lines.length === 0 ? run.lines : [...run.lines, ...lines].slice(-MAX_LINES),
    count: run.count + lines.length,
  };
}

function kindOf({ type }: JournalEvent): LogLine['kind'] {
  if (type === 'agent.activity') return 'agent';
  return type === 'gate.ended' || type === 'setup.ended' ? 'commands' : 'progress';
}

function attemptsAfter(attempts: FollowedRun['attempts'], event: JournalEvent): FollowedRun['attempts'] {
  if (!('attempt' in event)) return attempts;
  const known = attempts[event.story];
  const next = attemptAfter(known?.attempt === event.attempt ? known : undefined, event);
  return next === undefined || next === known ? attempts : { ...attempts, [event.story]: next };
}
