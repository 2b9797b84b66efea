import { addUsage, NO_USAGE, type Usage } from '../agent.ts';
import type { FailureCause } from '../failure/failure.ts';
import { plainReason } from '../failure/plain-reason.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { CheckedClaim } from '../review/criteria.ts';
import { isNoted, withNoted, type NotedFacts } from '../review/story-findings.ts';
import { omit } from '../run/state.ts';
import { msBetween } from '../text/format-elapsed.ts';
import { countedUsage, isMeteredAfter, isNothing } from './counted-usage.ts';
import type { AttemptRef, CommandResult, PromptPart } from './event-parts.ts';
import type { Verdict } from '../run/progress.ts';
import type { JournalEvent } from './events.ts';
import type { Phase } from './phase.ts';
import { startFactsOf, withStart, type StartFacts } from './start-facts.ts';

/** One phase of an attempt. Times are ISO 8601. */
export interface PhaseSpan {
  phase: Phase;
  from: string;
  /** Absent while it is running. A phase that fails ends with its attempt. */
  to?: string;
  /** As measured, if it ended by itself. */
  ms?: number;
  /** Whether the attempt failed in it. */
  failed?: true;
}

/** A command of setup or a gate that has ended. */
export interface AttemptCommand extends CommandResult {
  kind: 'setup' | 'gate';
  /** From 1: the gates run again after a merge, after a refactoring, and once an approved commit is merged. */
  round: number;
  /** The path of its log, below the attempt. */
  log: string;
  at: string;
}

/** A command that runs now. */
export interface RunningCommand extends AttemptRef {
  kind: 'setup' | 'gate';
  /** Absent until its start is known. */
  command?: string;
  log: string;
}

/** What an attempt used of one model. */
interface ModelUsage {
  /** Undefined if the responses were not counted one by one. */
  model?: string;
  usage: Usage;
  /** It has tokens without a known price: its cost is not the whole cost. */
  isUnpriced?: true;
}

/** How an attempt ended. */
export interface AttemptEnd {
  at: string;
  verdict: Verdict | 'interrupted';
  stopReason?: StopReason;
  /** Formatted for people. */
  reason: string;
  summary: string;
  /** Of a failure, if halo knows more than the stop reason. */
  cause?: FailureCause;
  commit?: string;
}

/** One start of an attempt. Without an end it runs, or its worker died. */
interface AttemptStart {
  /** Of its event. */
  seq: number;
  /** ISO 8601 */
  at: string;
  end?: AttemptEnd;
}

/** What became of an attempt that needed a person, or of its commit. */
export interface AttemptReply {
  what: 'answered' | 'expired' | 'sent back' | 'approved' | 'rejected' | 'cancelled';
  /** Absent if no person did it. */
  by?: string;
  /** Why a commit was rejected. */
  reason?: string;
}

/**
 * What a journal says about one attempt at a story. An attempt that was interrupted, and is started again with its number,
 * stays one attempt: its time and its usage are those of all its starts, everything else is that of the latest one. An
 * attempt whose commit was approved continues with its gates.
 */
export interface AttemptRecord extends AttemptRef, StartFacts, NotedFacts {
  /** When it was first started. ISO 8601 */
  startedAt: string;
  base: string;
  starts: readonly AttemptStart[];
  phases: readonly PhaseSpan[];
  /** Of all rounds: `lastGates` has those that count. */
  commands: readonly AttemptCommand[];
  /** The current round of commands; 0: no gate has started. */
  round: number;
  /** By model, in the order of first use. */
  usage: readonly ModelUsage[];
  /** The responses of its models are counted one by one. */
  isMetered: boolean;
  requests: readonly (JournalEvent & { type: 'network.asked' })[];
  claims: readonly CheckedClaim[];
  /** Whether the gates reported their tests; absent if unknown. */
  reported?: boolean;
  /** Locked tests did not run and pass, whatever their command exited with. */
  unproven?: true;
  /** The commit onto which it was merged last. */
  merged?: string;
  prompt?: { tokens: number; maxTokens: number; sections: PromptPart[] };
  agent?: { agent: string; version?: string; model?: string };
  running?: RunningCommand;
  end?: AttemptEnd;
  /** When the next attempt may begin, if a retry waits. ISO 8601 */
  retryAt?: string;
  /** The latest one. */
  reply?: AttemptReply;
}

type AttemptEvent = JournalEvent & AttemptRef;
type Of<T extends JournalEvent['type']> = JournalEvent & { type: T };

/** The attempts of a journal, event by event. */
export class AttemptReader {
  readonly #attempts = new Map<string, AttemptRecord>();

  /** Returns the attempt that the event is about, if any. Records are not changed, but replaced. */
  read(event: JournalEvent): AttemptRecord | undefined {
    if (!('attempt' in event)) return undefined;
    const key = JSON.stringify([event.story, event.attempt]);
    const attempt = attemptAfter(this.#attempts.get(key), event);
    if (attempt !== undefined) this.#attempts.set(key, attempt);
    return attempt;
  }

  /** In the order of their first start. */
  get attempts(): AttemptRecord[] {
    return [...this.#attempts.values()];
  }

  find(story: string, attempt: number): AttemptRecord | undefined {
    return this.#attempts.get(JSON.stringify([story, attempt]));
  }
}

/** The attempts of a journal. */
export function foldAttempts(events: Iterable<JournalEvent>): AttemptRecord[] {
  const reader = new AttemptReader();
  for (const event of events) reader.read(event);
  return reader.attempts;
}

/** An attempt after one more of its events; undefined before its start. */
export function attemptAfter(known: AttemptRecord | undefined, event: AttemptEvent): AttemptRecord | undefined {
  if (event.type === 'story.started') return afterStart(known, event);
  return known && afterEvent(known, event);
}

/**
 * How long an attempt has run until a time (ISO 8601), in ms: without waits for people, models, retries and workers, and
 * without starts whose worker died, because nothing says when.
 */
export function attemptMs({ starts }: Pick<AttemptRecord, 'starts'>, until: string): number {
  const ended = starts.filter((start, index) => start.end !== undefined || index === starts.length - 1);
  return ended.reduce((sum, { at, end }) => sum + Math.max(0, msBetween(at, end?.at ?? until)), 0);
}

/** How long a phase has run until a time (ISO 8601), in ms. */
export function phaseMs({ from, to, ms }: PhaseSpan, until: string): number {
  return ms ?? Math.max(0, msBetween(from, to ?? until));
}

/** The gates that ran on what the attempt ended with: those of the last round. */
export function lastGates({ commands, round }: AttemptRecord): AttemptCommand[] {
  return commands.filter((each) => each.kind === 'gate' && each.round === round);
}

/** What was used of all models. */
export function totalUsage(usage: readonly ModelUsage[]): Usage {
  return usage.reduce((sum, each) => addUsage(sum, each.usage), NO_USAGE);
}

/** An approved attempt continues with its gates and its landing; any other one starts from the beginning. */
function afterStart(known: AttemptRecord | undefined, event: Of<'story.started'>): AttemptRecord {
  const { story, attempt, at, base, seq } = event;
  const starts = [...(known?.starts ?? []), { seq, at }];
  const { startedAt = at, usage = [] } = known ?? {};
  // Nothing says when its worker died.
  const phases = (known?.phases ?? []).map((each) => (each.to === undefined ? { ...each, to: each.from } : each));
  const kept = { story, attempt, startedAt, base, starts, phases, usage, isMetered: false };
  if (known?.reply?.what === 'approved') return { ...withStart(omit(known, 'end'), event), ...kept };
  return { ...kept, ...startFactsOf(event), commands: [], round: 0, requests: [], claims: [] };
}

function afterEvent(known: AttemptRecord, event: AttemptEvent): AttemptRecord {
  const counted = countedUsage(event, known.isMetered);
  const isMetered = isMeteredAfter(event, known.isMetered);
  const used = counted === undefined ? known : { ...known, usage: addTo(known.usage, counted) };
  const next = afterFact(used.isMetered === isMetered ? used : { ...used, isMetered }, event);
  return afterReply(next, event);
}

function afterFact(known: AttemptRecord, event: AttemptEvent): AttemptRecord {
  switch (event.type) {
    case 'phase.started':
      return startPhase(known, event);
    case 'phase.ended':
      return { ...omit(known, 'running'), phases: endPhase(known.phases, event) };
    case 'setup.ended':
    case 'gate.ended': {
      const kind = event.type === 'setup.ended' ? 'setup' : 'gate';
      // After an interruption, a command runs again with the same log.
      const others = known.commands.filter(({ log }) => log !== event.log);
      const commands = [...others, { ...event, kind, round: known.round } as const];
      return { ...known, commands, running: runningOf(known, kind, followingLog(event.log)) };
    }
    case 'gate.started': {
      const { log } = known.running?.kind === 'gate' ? known.running : { log: `${folderOf(known)}/1.log` };
      return { ...known, running: { ...runningOf(known, 'gate', log), command: event.command } };
    }
    case 'retry.scheduled':
      return { ...known, retryAt: event.notBefore };
    case 'story.merged':
      return { ...known, merged: event.onto };
    case 'network.asked':
      return { ...known, requests: [...known.requests, event] };
    case 'prompt.built': {
      const { tokens, maxTokens, sections } = event;
      return { ...known, prompt: { tokens, maxTokens, sections } };
    }
    case 'agent.launched': {
      const { agent, version, model } = event;
      const named = { agent, ...(version !== undefined && { version }), ...(model !== undefined && { model }) };
      return { ...known, agent: named };
    }
    case 'tests.compared':
      return { ...withNoted(known, event), reported: event.after > 0 };
    case 'tests.judged':
      return { ...withNoted(known, event), ...(event.step === 'green' && { unproven: true }) };
    case 'criteria.claimed':
      return { ...known, claims: event.criteria, reported: event.reported };
    case 'story.ended':
      return afterEnd(known, event);
    case 'story.disturbed': {
      const { at, stopReason, summary } = event;
      const reason = plainReason(stopReason, event);
      return stop(known, { at, verdict: 'interrupted', stopReason, reason, summary });
    }
    case 'story.postponed':
      // A start that has ended already did not run until now.
      if (known.starts.at(-1)?.end !== undefined) return known;
      return stop(known, { at: event.at, verdict: 'interrupted', reason: 'POSTPONED', summary: event.why });
    case 'story.stopped':
    case 'story.returned': {
      const summary = event.type === 'story.stopped' ? 'A user stopped it.' : 'Its worker shut down.';
      return stop(known, { at: event.at, verdict: 'interrupted', reason: 'INTERRUPTED', summary });
    }
    default:
      return isNoted(event) ? withNoted(known, event) : known;
  }
}

/** Each phase of gates is a round of its own. */
function startPhase(known: AttemptRecord, { phase, at }: Of<'phase.started'>): AttemptRecord {
  const next = { ...omit(known, 'running'), phases: [...known.phases, { phase, from: at }] };
  if (phase === 'setup') return { ...next, running: runningOf(known, 'setup', 'setup/setup-1.log') };
  if (phase !== 'gates') return next;
  return { ...next, round: known.round + 1, running: runningOf(known, 'setup', `${folderOf(known)}/setup-1.log`) };
}

function afterEnd(known: AttemptRecord, event: Of<'story.ended'>): AttemptRecord {
  const { at, verdict, stopReason, summary, commit, held, failure } = event;
  const made = commit ?? held?.commit;
  const reason = plainReason(stopReason, failure);
  // An approved attempt may fail, or need approval again.
  const next = verdict !== 'passed' && known.reply?.what === 'approved' ? omit(known, 'reply') : known;
  const open = next.phases.map((phase) => (phase.to === undefined ? { ...phase, failed: true as const } : phase));
  const { cause } = failure ?? {};
  const end: AttemptEnd = {
    ...{ at, verdict, stopReason, reason, summary },
    ...(cause !== undefined && { cause }),
    ...(made !== undefined && { commit: made }),
  };
  const isDead = event.recovered === true || cause === 'worker-died';
  return stop(verdict === 'failed' ? { ...next, phases: open } : next, end, isDead ? lastSign(known) : at);
}

/** The last time that the journal has of an attempt whose worker died. */
function lastSign({ phases, starts }: AttemptRecord): string {
  const { at } = starts.at(-1) as AttemptStart;
  const { from = at, to = from } = phases.at(-1) ?? {};
  return to > at ? to : at;
}

/** A phase that failed has no end of its own. `ranUntil`: its end is recorded later if its worker died. */
function stop(known: AttemptRecord, end: AttemptEnd, ranUntil = end.at): AttemptRecord {
  const starts = known.starts.with(-1, { ...(known.starts.at(-1) as AttemptStart), end: { ...end, at: ranUntil } });
  return {
    ...omit(known, 'running'),
    starts,
    phases: known.phases.map((each) => (each.to === undefined ? { ...each, to: ranUntil } : each)),
    end,
  };
}

function afterReply(known: AttemptRecord, event: AttemptEvent): AttemptRecord {
  const reply = replyOf(event);
  if (reply === undefined) return known;
  // A commit that is approved as it is has landed.
  const landed = event.type === 'story.approved' && known.end && { end: { ...known.end, commit: event.commit } };
  return { ...known, reply, ...landed };
}

function replyOf(event: AttemptEvent): AttemptReply | undefined {
  const by = 'by' in event && event.by !== undefined ? { by: event.by } : {};
  switch (event.type) {
    case 'story.answered':
      return event.default ? { what: 'expired' } : { what: 'answered', ...by };
    case 'question.expired':
      return { what: 'expired' };
    case 'feedback.given':
      return { what: 'sent back', by: event.author ?? event.by };
    case 'approval.given':
    case 'story.approved':
      return { what: 'approved', ...by };
    case 'story.rejected':
      return { what: 'rejected', reason: event.reason, ...by };
    case 'story.cancelled':
      return { what: 'cancelled', ...by };
    default:
      return undefined;
  }
}

function addTo(all: readonly ModelUsage[], { model, usage }: { model?: string; usage: Usage }): readonly ModelUsage[] {
  if (isNothing(usage)) return all;
  const isUnpriced = usage.costUsd === undefined && usage.inputTokens + usage.outputTokens > 0;
  const known = all.find((each) => each.model === model);
  const sum: ModelUsage = {
    ...(model !== undefined && { model }),
    usage: known === undefined ? usage : addUsage(known.usage, usage),
    ...((isUnpriced || known?.isUnpriced) && { isUnpriced: true }),
  };
  return known === undefined ? [...all, sum] : all.map((each) => (each === known ? sum : each));
}

/** Logs are numbered by command. */
function runningOf({ story, attempt }: AttemptRef, kind: RunningCommand['kind'], log: string): RunningCommand {
  return { story, attempt, kind, log };
}

function followingLog(log: string): string {
  return log.replace(/\d+(?=\.log$)/, (number) => String(Number(number) + 1));
}

/** Where the logs of the gates are, below the attempt. */
function folderOf({ merged }: AttemptRecord): string {
  return merged === undefined ? 'gates' : `gates/onto-${merged.slice(0, 12)}`;
}

function endPhase(phases: readonly PhaseSpan[], { phase, ms, at }: Of<'phase.ended'>): readonly PhaseSpan[] {
  const open = phases.findLast((each) => each.phase === phase && each.to === undefined);
  // Its start may not have been on the disk when the machine failed.
  if (open === undefined) return [...phases, { phase, from: new Date(Date.parse(at) - ms).toISOString(), to: at, ms }];
  return phases.map((each) => (each === open ? { ...each, to: at, ms } : each));
}
