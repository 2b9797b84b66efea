import { imageAdvice } from '../../core/command-needs.ts';
import type { SandboxExit } from '../../sandbox/sandbox.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { formatSize, formatConfigDuration } from '../../lib/units.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { FailureCause, LimitKey } from '../../core/failure/failure.ts';
import type { AskedQuestion } from '../../core/run/questions.ts';
import type { ModelPause } from '../../core/failure/model-pause.ts';
import type { AttemptRef, HeldCommit, Judged } from '../../core/journal/event-parts.ts';
import type { Feedback } from '../../core/review/feedback.ts';
import type { Verdict } from '../../core/run/progress.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../../core/agent.ts';
import type { Config } from '../../config/config.ts';
import { defined } from '../../lib/guards.ts';

/** How an attempt ended. */
export interface AttemptOutcome {
  verdict: Verdict;
  stopReason: StopReason;
  /** One or two sentences for people. */
  summary: string;
  commit?: string;
  /** The commit had landed before the worker of the attempt died. */
  recovered?: true;
  /** In a dry run: the summary describes the change. */
  described?: true;
  /** The commit that waits for approval. */
  held?: HeldCommit;
  /** What a reviewer wants changed in the commit that waits: the next attempt begins with it, and no person is asked. */
  sentBack?: Pick<Feedback, 'text' | 'comments' | 'author'>;
  /** The commit with what the agent left when it asked a question. */
  left?: string;
  /** Answers that the agent proposes to its question. */
  options?: string[];
  question?: AskedQuestion;
  /** Paths that another story changed too and landed first. */
  conflicts?: string[];
  usage?: Usage;
  /** Whether the agent changed a file, if that is why the attempt ended. */
  changed?: boolean;
  /** Details of a failure that the stop reason does not express. */
  cause?: FailureCause;
  /** The setting whose limit ended it, as in `FailureNote`. */
  limit?: LimitKey;
  /** Its agent could not continue its session, which is removed: the attempt begins again with a new one. */
  lostSession?: true;
  /** The model has a pause that is too long for an agent: the attempt begins again after it. */
  pause?: ModelPause;
  /** The end of the log that shows why, for the next attempt's prompt and the debug bundle. */
  tail?: string;
}

/** The journal entry for an outcome. */
export function storyEnded({ story, attempt }: AttemptRef, end: AttemptOutcome, judged: Judged): JournalEntry {
  const { stopReason, summary, usage, commit, recovered, described, held, left, question, conflicts } = end;
  return {
    type: 'story.ended',
    story,
    attempt,
    ...judged,
    stopReason,
    summary,
    usage: usage ?? NO_USAGE,
    ...defined({ commit, recovered, described, held, left, question, conflicts }),
  };
}

/** What was measured of the agent of an attempt. The usage is recorded; the rest decides whether to retry. */
export interface AgentMeasurements {
  /** As metered by the gateway. */
  usage: Usage;
  /** Whether the agent changed a file; undefined if its work was not imported. */
  changed?: boolean | undefined;
  /** The changed files, if its work reached the gates. */
  files?: readonly { path: string }[] | undefined;
  /** Bytes that the agent printed; undefined if it printed nothing. */
  output?: number | undefined;
  /** The first action that the agent's own permission rules denied. */
  denied?: string | undefined;
}

/**
 * Collects the measurements of all agents of an attempt. Phases do not return them, because what an agent used counts also
 * if its phase throws: at the end of the attempt, or when the worker is stopped.
 */
export class Measurements {
  private measured: AgentMeasurements = { usage: NO_USAGE };

  get current(): AgentMeasurements {
    return this.measured;
  }

  /** Adds those of a further agent: the usage of all, otherwise those of the last one. */
  add(found: AgentMeasurements): void {
    const { usage, denied } = this.measured;
    this.measured = { ...found, usage: addUsage(usage, found.usage), denied: denied ?? found.denied };
  }

  /** Adds the usage of an agent whose other measurements do not count. */
  addUsage(usage: Usage): void {
    this.measured = { ...this.measured, usage: addUsage(this.measured.usage, usage) };
  }

  /** `files`: the files that the imported work changes; undefined if it changes none. */
  setChange(files: AgentMeasurements['files']): void {
    this.measured = { ...this.measured, changed: files !== undefined, files };
  }
}

/** Thrown by a phase to end the attempt early; caught once, in run-attempt.ts. */
export class AttemptEnded extends Error {
  readonly outcome: AttemptOutcome;

  constructor(end: AttemptOutcome) {
    super(end.summary);
    this.outcome = end;
  }
}

/** The outcome of work that passed all gates without a commit. */
export function passed({ summary }: { summary: string }): AttemptOutcome {
  return { verdict: 'passed', stopReason: 'SUCCESS', summary };
}

/** Ends the attempt as failed. `tail`: the end of the log that shows why. */
export function attemptFailed(stopReason: StopReason, summary: string, tail?: string): AttemptEnded {
  return new AttemptEnded({ verdict: 'failed', stopReason, summary, ...defined({ tail }) });
}

/** Adds a cause, which decides about retries. */
export function withCause(cause: FailureCause | undefined, { outcome: end }: AttemptEnded): AttemptEnded {
  return new AttemptEnded({ ...end, ...defined({ cause }) });
}

/** Names the setting whose limit ended the attempt, which a person may raise. */
export function withLimit(limit: LimitKey | undefined, { outcome: end }: AttemptEnded): AttemptEnded {
  return new AttemptEnded({ ...end, ...defined({ limit }) });
}

/** Errors with these stop reasons end the story's attempt. All other errors are faults of the worker or its environment. */
const OUTCOME_REASONS: readonly StopReason[] = ['POLICY_VIOLATION', 'CONFLICT'];

/** The outcome that an error means for the story. Throws any other error: it is a fault of the worker or its environment. */
export function toOutcome(error: unknown): AttemptOutcome {
  if (error instanceof AttemptEnded) return error.outcome;
  const stopReason = error instanceof HaloError ? error.stopReason : undefined;
  if (!(error instanceof HaloError) || stopReason === undefined || !OUTCOME_REASONS.includes(stopReason)) throw error;
  return { verdict: 'failed', stopReason, summary: error.message };
}

/** A command of an attempt: its display name, such as "gate `npm test`", and the limits that it ran under. */
interface LimitedCommand {
  what: string;
  limits: Config['limits'];
  /** The cause to report if it exceeds the output or disk limit. */
  overflow?: FailureCause;
}

/** Throws AttemptEnded unless the command exited by itself with enough memory. */
export function assertExited(exit: SandboxExit, command: LimitedCommand, tail: string): void {
  const end = findExitFailure(exit, command, tail);
  if (end !== undefined) throw end;
}

/**
 * The failure of a command that did not exit by itself, or that ran out of memory. The reason comes first, because `what`
 * may be long.
 */
export function findExitFailure(
  exit: SandboxExit,
  { what, limits, overflow }: LimitedCommand,
  tail: string,
): AttemptEnded | undefined {
  switch (exit.ended) {
    case 'wall': {
      const why = `ran longer than ${formatConfigDuration(limits.wallMs)} (limits.wall)`;
      return withLimit('limits.wall', attemptFailed('TIMEOUT', `${why}: ${what}`, tail));
    }
    case 'idle': {
      const why = `no output for ${formatConfigDuration(limits.idleMs)} (limits.idle)`;
      return withLimit('limits.idle', attemptFailed('TIMEOUT', `${why}: ${what}`, tail));
    }
    case 'output': {
      const why = `printed more than ${formatSize(limits.outputBytes)} (limits.output)`;
      return withLimit('limits.output', withCause(overflow, attemptFailed('ENGINE_ERROR', `${why}: ${what}`, tail)));
    }
    case 'disk': {
      const why = `the workspace is larger than ${formatSize(limits.diskBytes)} (limits.disk)`;
      return withLimit('limits.disk', withCause(overflow, attemptFailed('ENGINE_ERROR', `${why}: ${what}`, tail)));
    }
    case 'disk-floor': {
      const floor = `${formatSize(limits.freeDiskBytes)} (limits.free_disk)`;
      const why = `less than ${floor} was left on the machine’s disk, and this workspace was the largest`;
      return withCause('disk-floor', attemptFailed('ENGINE_ERROR', `${why}: ${what}`, tail));
    }
    case 'aborted':
      return attemptFailed('USER_ABORT', `${what} was stopped by a user`, tail);
    case 'exited': {
      if (exit.outOfMemory === 'no') return undefined;
      const memory = `limits.memory = ${formatSize(limits.memoryBytes)}`;
      const killed = exit.outOfMemory === 'maybe' ? 'killed by signal 9, probably for its memory' : 'ran out of memory';
      return withLimit('limits.memory', attemptFailed('OUT_OF_MEMORY', `${killed} (${memory}): ${what}`, tail));
    }
  }
}

/** Shell messages for a missing program. A name with a path is a file of the repository and does not match. */
const NO_PROGRAM = /(?:^|\s|: )(?:line )?\d*:? ?([\w.+-]+): (?:command )?not found\s*$/m;

/** The missing program that made a command exit with code 127, if its output names one. */
export function findMissingProgram({ exitCode }: Pick<SandboxExit, 'exitCode'>, tail: string): string | undefined {
  return exitCode === 127 ? NO_PROGRAM.exec(tail)?.[1] : undefined;
}

/** The failure of a command, `what`, that needs a missing program. It is not retried. */
export function programMissing(
  program: string,
  { what, image, tail }: { what: string; image: string; tail: string },
): AttemptEnded {
  const summary = `\`${program}\` was not found: neither the image ${image} nor setup provides it; ${what} exited 127; ${imageAdvice('it')}`;
  return withCause('program-missing', attemptFailed('GATE_FAILED', summary, tail));
}

/** Messages of programs that cannot start another process or thread. */
const NO_FORK =
  /cannot fork|can't start new thread|unable to create (native )?thread|resource temporarily unavailable/i;

/** Describes the exit of a failed command, with the cause that the engine reported or that its output suggests. */
export function describeExit(
  { exitCode, forksRefused }: SandboxExit,
  { pids }: Pick<Config['limits'], 'pids'>,
  tail: string,
): string {
  return `exited ${String(exitCode)}${describeRefusedForks({ forksRefused }, { pids }, tail)}`;
}

/** What to add to the reason of a failure if the command reached the limit of processes; otherwise nothing. */
export function describeRefusedForks(
  { forksRefused }: Pick<SandboxExit, 'forksRefused'>,
  { pids }: Pick<Config['limits'], 'pids'>,
  tail: string,
): string {
  if (forksRefused) return `; the system refused it further processes (limits.pids = ${pids})`;
  return NO_FORK.test(tail) ? `, probably for lack of processes (limits.pids = ${pids})` : '';
}
