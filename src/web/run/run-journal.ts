import type { Usage } from '../../core/agent.ts';
import type { CommandResult, JournalEvent, PromptPart, Verdict } from '../../core/journal/events.ts';
import { summarizeNetwork, type NetworkRow } from '../../core/journal/network-report.ts';
import type { Phase } from '../../core/journal/phase.ts';
import { plainReason } from '../../core/failure/plain-reason.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { CostReader } from '../../core/report/cost-report.ts';
import type { RunState } from '../../core/run/state.ts';
import { msBetween } from '../../core/text/format-elapsed.ts';
import type { TranscriptLine } from '../../core/transcript/transcript-line.ts';
import { WHOLE, type Extent } from '../../core/transcript/excerpt.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';
import { AttemptTracker } from '../../tui/attempts.ts';

/** One phase of an attempt. Times are ms since 1970. */
export interface PhaseBar {
  phase: Phase;
  from: number;
  /** Absent while it is running. */
  to?: number;
  /** Whether the attempt failed in it. */
  failed?: true;
}

/** A command of setup or a gate. Without `at`, it is running. */
export interface AttemptCommand extends Partial<CommandResult> {
  kind: 'setup' | 'gate';
  command: string;
  /** The path of its log, below the attempt. */
  log: string;
  at?: string;
}

/** How an attempt ended. */
export interface AttemptEnd {
  at: string;
  verdict: Verdict | 'interrupted';
  stopReason?: StopReason;
  /** Formatted for people. */
  reason: string;
  summary: string;
  commit?: string;
}

/** What became of an attempt that needed a person, or of its commit. */
export interface AttemptReply {
  what: 'answered' | 'expired' | 'sent back' | 'approved' | 'rejected' | 'cancelled';
  /** Absent in old journals, and if no person did it. */
  by?: string;
  /** Why a commit was rejected. */
  reason?: string;
}

/** What the journal says about an attempt at a story. */
export interface AttemptRecord {
  story: string;
  attempt: number;
  startedAt: string;
  /** How long it waited for approval before it continued, in ms. */
  waitedMs: number;
  base: string;
  bars: PhaseBar[];
  commands: AttemptCommand[];
  requests: (JournalEvent & { type: 'network.asked' })[];
  prompt?: { tokens: number; maxTokens: number; sections: PromptPart[] };
  agent?: { agent: string; model?: string };
  end?: AttemptEnd;
  /** The latest one. */
  reply?: AttemptReply;
}

/** A line of the log of the run. */
export interface RunLine extends TranscriptLine {
  seq: number;
  at: string;
  attempt?: number;
  /** Whether it is the first line of its event. */
  isFirst: boolean;
}

/** Everything that the journal has, except the ends of very long lines. */
const EXTENT: Extent = { ...WHOLE, line: 1_000 };

/** Everything that the screens of a run show, computed from the events of its journal as they arrive. */
export class RunJournal {
  state: RunState | undefined;
  prd: Prd | undefined;
  readonly lines: RunLine[] = [];
  readonly attempts = new Map<string, AttemptRecord>();
  readonly #costs = new CostReader();
  readonly #commands = new AttemptTracker();

  add(events: readonly JournalEvent[]): void {
    for (const event of events) {
      if (event.seq <= (this.state?.seq ?? 0)) continue;
      this.state = applyEvent(this.state, event);
      if (event.type === 'run.created' || event.type === 'run.replanned') this.prd = event.prd;
      this.#costs.read(event);
      this.#commands.see(event);
      this.#addLines(event);
      if ('story' in event && 'attempt' in event) this.#addToAttempt(event);
    }
  }

  attemptOf(story: string, attempt: number): AttemptRecord | undefined {
    return this.attempts.get(keyOf({ story, attempt }));
  }

  /** In order. */
  attemptsOf(story: string): AttemptRecord[] {
    return [...this.attempts.values()].filter((each) => each.story === story);
  }

  /** The commands of an attempt, with the one that is running. */
  commandsOf({ story, attempt, commands }: AttemptRecord): AttemptCommand[] {
    const running = this.#commands.running.filter((each) => each.story === story && each.attempt === attempt);
    return [...commands, ...running.map(({ kind, log }) => ({ kind, log, command: this.#commandAt(story, kind) }))];
  }

  /** What an attempt used, by model; the name is undefined in old journals. */
  usageOf({ story, attempt }: AttemptRecord): { model?: string; usage: Usage }[] {
    return this.#costs.costs().filter((each) => each.story === story && each.attempt === attempt);
  }

  networkOf({ requests }: AttemptRecord): NetworkRow[] {
    return summarizeNetwork(requests, undefined).rows;
  }

  readonly #started = new Map<string, string>();

  #commandAt(story: string, kind: 'setup' | 'gate'): string {
    return kind === 'setup' ? 'setup' : (this.#started.get(story) ?? 'gate');
  }

  #addLines(event: JournalEvent): void {
    const attempt = 'attempt' in event ? { attempt: event.attempt } : {};
    for (const [index, line] of describeEvent(event, { extent: EXTENT }).entries())
      this.lines.push({ ...line, ...attempt, seq: event.seq, at: event.at, isFirst: index === 0 });
  }

  #addToAttempt(event: Extract<JournalEvent, { story: string; attempt: number }>): void {
    const found = this.attempts.get(keyOf(event));
    if (event.type === 'story.started') {
      this.attempts.set(keyOf(event), startAttempt(event, found));
      return;
    }
    if (found === undefined) return;
    const at = Date.parse(event.at);
    switch (event.type) {
      case 'phase.started':
        found.bars.push({ phase: event.phase, from: at });
        // After a merge, setup and gates run again.
        return;
      case 'phase.ended':
        return closeBars(found, at, event.phase);
      case 'setup.ended':
      case 'gate.ended': {
        const kind = event.type === 'setup.ended' ? 'setup' : 'gate';
        // After an interruption, a command runs again with the same log.
        const others = found.commands.filter(({ log }) => log !== event.log);
        found.commands = [...others, { ...event, kind }];
        return;
      }
      case 'gate.started':
        this.#started.set(event.story, event.command);
        return;
      case 'network.asked':
        found.requests.push(event);
        return;
      case 'prompt.built':
        found.prompt = event;
        return;
      case 'agent.launched':
        found.agent = event;
        return;
      default:
        addEnd(found, event);
        addReply(found, event);
    }
  }
}

/** An approved attempt continues with its gates and its landing; any other one starts from the beginning. */
function startAttempt(
  { story, attempt, at, base }: JournalEvent & { type: 'story.started' },
  found: AttemptRecord | undefined,
): AttemptRecord {
  const bars = found?.bars ?? [];
  if (found?.reply?.what !== 'approved')
    return { story, attempt, base, startedAt: at, waitedMs: 0, bars, commands: [], requests: [] };
  const { end, ...kept } = found;
  return { ...kept, base, waitedMs: kept.waitedMs + (end === undefined ? 0 : msBetween(end.at, at)) };
}

/** How long an attempt ran until a time (ISO 8601), in ms. */
export function attemptMs({ startedAt, waitedMs }: AttemptRecord, until: string): number {
  return msBetween(startedAt, until) - waitedMs;
}

function addEnd(found: AttemptRecord, event: Extract<JournalEvent, { story: string; attempt: number }>): void {
  const { at } = event;
  if (event.type === 'story.ended') {
    const { verdict, stopReason, summary, commit, held, failure } = event;
    const made = commit ?? held?.commit;
    const reason = plainReason(stopReason, failure);
    // An approved attempt may fail, or need approval again.
    if (verdict !== 'passed' && found.reply?.what === 'approved') delete found.reply;
    if (verdict === 'failed') for (const bar of found.bars) if (bar.to === undefined) bar.failed = true;
    found.end = { at, verdict, stopReason, reason, summary, ...(made && { commit: made }) };
  } else if (event.type === 'story.disturbed') {
    const { stopReason, summary } = event;
    found.end = { at, verdict: 'interrupted', stopReason, reason: plainReason(stopReason, undefined), summary };
  } else if (event.type === 'story.postponed') {
    found.end = { at, verdict: 'interrupted', reason: 'POSTPONED', summary: event.why };
  } else if (event.type === 'story.stopped' || event.type === 'story.returned') {
    const summary = event.type === 'story.stopped' ? 'A user stopped it.' : 'Its worker shut down.';
    found.end = { at, verdict: 'interrupted', reason: 'INTERRUPTED', summary };
  } else return;
  // A phase that failed has no end of its own.
  closeBars(found, Date.parse(at));
}

function addReply(found: AttemptRecord, event: Extract<JournalEvent, { story: string; attempt: number }>): void {
  switch (event.type) {
    case 'story.answered':
      found.reply = event.default ? { what: 'expired' } : { what: 'answered', by: event.by };
      return;
    case 'question.expired':
      found.reply = { what: 'expired' };
      return;
    case 'feedback.given':
      found.reply = { what: 'sent back', by: event.author ?? event.by };
      return;
    case 'approval.given':
    case 'story.approved':
      found.reply = { what: 'approved', ...(event.by !== undefined && { by: event.by }) };
      return;
    case 'story.rejected':
      found.reply = { what: 'rejected', reason: event.reason, ...(event.by !== undefined && { by: event.by }) };
      return;
    case 'story.cancelled':
      found.reply = { what: 'cancelled', by: event.by };
      return;
    default:
  }
}

function closeBars({ bars }: AttemptRecord, at: number, phase?: Phase): void {
  for (const bar of bars) if (bar.to === undefined && (phase ?? bar.phase) === bar.phase) bar.to = at;
}

function keyOf({ story, attempt }: { story: string; attempt: number }): string {
  return JSON.stringify([story, attempt]);
}
