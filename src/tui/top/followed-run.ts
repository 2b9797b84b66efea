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

/** A gate of the newest attempt at a story. */
export interface GateProgress {
  command: string;
  /** Absent while it is running. */
  ended?: { exitCode: number | undefined; ms: number };
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
  gates: Readonly<Record<string, readonly GateProgress[]>>;
  seq: number;
}

/** Older lines are dropped: `halo logs` has all of them. */
const MAX_LINES = 5000;
const EXTENT: Extent = { said: 40, failedOutput: 40, output: 10, line: 1000 };

export function followNothing(runId: string): FollowedRun {
  return { runId, lines: [], count: 0, gates: {}, seq: 0 };
}

/** Adds events; those that were received before are ignored. */
export function addEvents(run: FollowedRun, events: readonly JournalEvent[]): FollowedRun {
  let { state, prd, seq, gates } = run;
  const lines: LogLine[] = [];
  for (const event of events) {
    if (event.seq <= seq) continue;
    seq = event.seq;
    state = applyEvent(state, event);
    if (event.type === 'run.created' || event.type === 'run.replanned') prd = event.prd;
    gates = gatesAfter(gates, event);
    for (const line of describeEvent(event, { runId: run.runId, extent: EXTENT }))
      lines.push({ ...line, number: run.count + lines.length, at: event.at, kind: kindOf(event) });
  }
  return {
    ...run,
    ...(state && { state }),
    ...(prd && { prd }),
    seq,
    gates,
    lines: lines.length === 0 ? run.lines : [...run.lines, ...lines].slice(-MAX_LINES),
    count: run.count + lines.length,
  };
}

function kindOf({ type }: JournalEvent): LogLine['kind'] {
  if (type === 'agent.activity') return 'agent';
  return type === 'gate.ended' || type === 'setup.ended' ? 'commands' : 'progress';
}

function gatesAfter(gates: FollowedRun['gates'], event: JournalEvent): FollowedRun['gates'] {
  switch (event.type) {
    case 'story.started':
    case 'story.merged':
      return { ...gates, [event.story]: [] };
    case 'gate.started':
      return { ...gates, [event.story]: [...(gates[event.story] ?? []), { command: event.command }] };
    case 'gate.ended': {
      const before = (gates[event.story] ?? []).filter(({ ended }) => ended !== undefined);
      const { command, exitCode, ms } = event;
      return { ...gates, [event.story]: [...before, { command, ended: { exitCode, ms } }] };
    }
    default:
      return gates;
  }
}
