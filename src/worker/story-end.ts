import type { Config } from '../config/config.ts';
import { NO_USAGE, type Usage } from '../core/agent.ts';
import type { AttemptRef, FailureNote, HeldCommit, JournalEntry, Verdict } from '../core/journal/events.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import { HaloError } from '../core/failure/errors.ts';
import { formatDuration } from '../lib/duration.ts';
import { formatSize } from '../lib/size.ts';
import type { StopReason } from '../core/failure/stop-reason.ts';
import type { SandboxExit } from '../sandbox/sandbox.ts';

/** How an attempt ended: data, whatever it was. */
export interface StoryEnd {
  verdict: Verdict;
  stopReason: StopReason;
  /** One or two sentences for people. */
  summary: string;
  commit?: string;
  /** What waits for a person's approval. */
  held?: HeldCommit;
  /** Paths that another story changed as well and landed first. */
  conflicts?: string[];
  usage?: Usage;
  /** What the stop reason alone does not tell of a failure. */
  cause?: FailureCause;
  /** The end of the log that tells why, for the next attempt's prompt and the debug bundle. */
  tail?: string;
}

/** An attempt's end as the journal keeps it. */
export function endedEntry({ story, attempt }: AttemptRef, end: StoryEnd, failure?: FailureNote): JournalEntry {
  const { verdict, stopReason, summary, usage, commit, held, conflicts } = end;
  return {
    type: 'story.ended',
    story,
    attempt,
    verdict,
    stopReason,
    summary,
    usage: usage ?? NO_USAGE,
    ...(commit === undefined ? {} : { commit }),
    ...(held === undefined ? {} : { held }),
    ...(conflicts === undefined ? {} : { conflicts }),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Thrown by a phase to end the attempt early; caught once, in attempt.ts. */
export class AttemptOver extends Error {
  readonly end: StoryEnd;

  constructor(end: StoryEnd) {
    super(end.summary);
    this.end = end;
  }
}

export function failed(stopReason: StopReason, summary: string, tail?: string): AttemptOver {
  return new AttemptOver({ verdict: 'failed', stopReason, summary, ...(tail === undefined ? {} : { tail }) });
}

/** The same where the cause decides what follows. */
export function failedBy(cause: FailureCause | undefined, { end }: AttemptOver): AttemptOver {
  return new AttemptOver({ ...end, ...(cause === undefined ? {} : { cause }) });
}

/** Stop reasons that an attempt can end with by an error; every other error is the worker's, not the story's. */
const ENDS_ATTEMPT: readonly StopReason[] = ['POLICY_VIOLATION', 'CONFLICT'];

/** The end that an error stands for, or undefined when it is no verdict on the story. */
export function endOfError(error: unknown): StoryEnd | undefined {
  if (error instanceof AttemptOver) return error.end;
  if (!(error instanceof HaloError) || error.stopReason === undefined) return undefined;
  if (!ENDS_ATTEMPT.includes(error.stopReason)) return undefined;
  return { verdict: 'failed', stopReason: error.stopReason, summary: error.message };
}

/** A command of an attempt: its name for people, e.g. "gate `npm test`", and the limits that it ran under. */
export interface LimitedCommand {
  what: string;
  limits: Config['limits'];
}

/** Throws unless the command ran to its own end. The reason comes first: the name of a command may be long. */
export function refuseBrokenExit(exit: SandboxExit, { what, limits }: LimitedCommand, tail: string): void {
  switch (exit.ended) {
    case 'wall':
      throw failed('TIMEOUT', `ran longer than ${formatDuration(limits.wallMs)} (limits.wall): ${what}`, tail);
    case 'idle':
      throw failed('TIMEOUT', `no output for ${formatDuration(limits.idleMs)} (limits.idle): ${what}`, tail);
    case 'output':
      throw failed(
        'ENGINE_ERROR',
        `printed more than ${formatSize(limits.outputBytes)} (limits.output): ${what}`,
        tail,
      );
    case 'disk': {
      const why = `the workspace holds more than ${formatSize(limits.diskBytes)} (limits.disk)`;
      throw failed('ENGINE_ERROR', `${why}: ${what}`, tail);
    }
    case 'disk-floor': {
      const floor = `${formatSize(limits.freeDiskBytes)} (limits.free_disk)`;
      const why = `less than ${floor} was left on the machine’s disk, and this workspace was the largest`;
      throw failedBy('disk-floor', failed('ENGINE_ERROR', `${why}: ${what}`, tail));
    }
    case 'aborted':
      throw failed('USER_ABORT', `${what} was stopped by a person`, tail);
    case 'exited': {
      const memory = `limits.memory = ${formatSize(limits.memoryBytes)}`;
      if (exit.outOfMemory === 'yes') throw failed('OUT_OF_MEMORY', `ran out of memory (${memory}): ${what}`, tail);
      if (exit.outOfMemory === 'maybe')
        throw failed('OUT_OF_MEMORY', `killed by signal 9, probably for its memory (${memory}): ${what}`, tail);
    }
  }
}

/** What shells say of a program that is not there; one with a path is a file of the repository. */
const NO_PROGRAM = /(?:^|\s|: )(?:line )?\d*:? ?([\w.+-]+): (?:command )?not found\s*$/m;

/** The program that a command ended for the lack of (exit code 127), if its output names one. */
export function missingProgram({ exitCode }: Pick<SandboxExit, 'exitCode'>, tail: string): string | undefined {
  return exitCode === 127 ? NO_PROGRAM.exec(tail)?.[1] : undefined;
}

/** The end of an attempt whose `what`, e.g. "setup `npm ci`", needs a program that is not there: it is not tried again. */
export function failedForProgram(
  program: string,
  { what, image, tail }: { what: string; image: string; tail: string },
): AttemptOver {
  const summary = `\`${program}\` was not found: neither the image ${image} nor setup provides it; ${what} exited 127. Set \`image\` to one that has it (docs/images.md), or install it in \`setup\``;
  return failedBy('program-missing', failed('GATE_FAILED', summary, tail));
}

/** What programs say when they get no further process or thread. */
const NO_FORK =
  /cannot fork|can't start new thread|unable to create (native )?thread|resource temporarily unavailable/i;

/** How a command ended that failed by itself, with the cause that the engine saw or its own words suggest. */
export function describeExit(
  { exitCode, forksRefused }: SandboxExit,
  { pids }: Pick<Config['limits'], 'pids'>,
  tail: string,
): string {
  const exited = `exited ${String(exitCode)}`;
  if (forksRefused) return `${exited}; the system refused it further processes (limits.pids = ${pids})`;
  return NO_FORK.test(tail) ? `${exited}, probably for lack of processes (limits.pids = ${pids})` : exited;
}
