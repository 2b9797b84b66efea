import { stripCredentials } from '../text/address-credentials.ts';
import { exitCodeOf, USAGE_EXIT, type StopReason } from './stop-reason.ts';

/** Every error code, with its stop reason. `undefined` means wrong usage. */
export const ERRORS = {
  USAGE: undefined,
  RUN_NOT_FOUND: undefined,
  STORY_NOT_FOUND: undefined,
  ARTIFACT_UNREADABLE: undefined,
  BACKUP_UNREADABLE: 'VALIDATION_FAILED',
  PRD_UNREADABLE: 'VALIDATION_FAILED',
  PRD_INVALID: 'VALIDATION_FAILED',
  TASK_INVALID: 'VALIDATION_FAILED',
  TASK_NOT_NEXT: 'CANNOT_START',
  PROMPT_TOO_LARGE: 'VALIDATION_FAILED',
  PROMPT_MISSING: 'MISSING_DEPENDENCY',
  TASK_AGENT_MISSING: 'MISSING_DEPENDENCY',
  PROGRAM_MISSING: 'MISSING_DEPENDENCY',
  PRD_CHANGED: 'VALIDATION_FAILED',
  CONFIG_INVALID: 'VALIDATION_FAILED',
  NO_GATES: 'VALIDATION_FAILED',
  NOT_A_GIT_REPO: 'NOT_A_GIT_REPO',
  DIRTY_WORKTREE: 'DIRTY_WORKTREE',
  UNLANDED: 'CANNOT_START',
  NOTHING_RUNNABLE: 'NOTHING_RUNNABLE',
  NO_COMMITS: 'CANNOT_START',
  REPO_UNREACHABLE: 'CANNOT_START',
  LAND_REFUSED: 'CANNOT_START',
  UNCONFIRMED: 'CANNOT_START',
  CONTROL_REFUSED: 'CANNOT_START',
  DOCKER_UNAVAILABLE: 'MISSING_DEPENDENCY',
  DOCKER_UNSAFE: 'CANNOT_START',
  IMAGE_MISSING: 'MISSING_DEPENDENCY',
  IMAGE_BUILD_FAILED: 'MISSING_DEPENDENCY',
  REDIS_UNAVAILABLE: 'MISSING_DEPENDENCY',
  GIT_MISSING: 'MISSING_DEPENDENCY',
  MODEL_KEY_MISSING: 'MISSING_DEPENDENCY',
  CASSETTE_MISSING: 'MISSING_DEPENDENCY',
  FORGE_FAILED: 'CANNOT_START',
  NOTIFY_FAILED: undefined,
  API_UNREACHABLE: 'MISSING_DEPENDENCY',
  API_REFUSED: undefined,
  ACCESS_DENIED: undefined,
  USER_UNKNOWN: undefined,
  SIGN_IN_FAILED: undefined,
  TOO_MANY_REQUESTS: undefined,
  POLICY_VIOLATION: 'POLICY_VIOLATION',
  CONFLICT: 'CONFLICT',
  RUN_ABORTED: 'USER_ABORT',
  GIT_FAILED: 'INFRASTRUCTURE',
  DOCKER_FAILED: 'INFRASTRUCTURE',
  DISK_FAILED: 'INFRASTRUCTURE',
  RUN_UNREADABLE: 'INFRASTRUCTURE',
  BUDGET_UNKNOWN: 'INFRASTRUCTURE',
  INTERNAL: 'UNKNOWN_ERROR',
} as const satisfies Record<string, StopReason | undefined>;

export type ErrorCode = keyof typeof ERRORS;

interface ErrorOptions {
  /** How to fix it, one sentence. */
  hint?: string;
  /** The problems of a file, for programs that read errors as JSON. */
  problems?: readonly FileProblem[];
  /** What a person has to confirm first, for programs that ask them. */
  unconfirmed?: Unconfirmed;
  cause?: unknown;
}

/** What a decision needs a confirmation of, up to a commit. `flag`: as `--confirm` takes it; `run`: the run that has it. */
export interface Unconfirmed {
  commit: string;
  found: { run: string; flag: string; text: string }[];
}

/**
 * A rule that a file violates. `where` is the location (`userStories[2].title`); lines count from 1. `file`: its name, if it
 * is one of several in a folder.
 */
export interface FileProblem {
  file?: string;
  line: number;
  where: string;
  rule: string;
}

/**
 * The only error class: `message` says what failed, `hint` how to fix it, `code` is stable. Credentials in URLs are removed,
 * because errors are printed, sent and stored.
 */
export class HaloError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly problems: readonly FileProblem[];
  readonly unconfirmed: Unconfirmed | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(stripCredentials(message), { cause: options.cause });
    this.name = 'HaloError';
    this.code = code;
    this.hint = options.hint === undefined ? undefined : stripCredentials(options.hint);
    this.unconfirmed = options.unconfirmed && {
      commit: options.unconfirmed.commit,
      found: options.unconfirmed.found.map((each) => ({ ...each, text: stripCredentials(each.text) })),
    };
    this.problems = (options.problems ?? []).map(({ file, line, where, rule }) => ({
      ...(file === undefined ? {} : { file }),
      line,
      where: stripCredentials(where),
      rule: stripCredentials(rule),
    }));
  }

  get stopReason(): StopReason | undefined {
    return ERRORS[this.code];
  }

  get exitCode(): number {
    const reason = this.stopReason;
    return reason === undefined ? USAGE_EXIT : exitCodeOf(reason);
  }
}

/** What another program or server said, if an error of halo quotes it: its `cause` is that text. */
export function quotedText(error: unknown): string | undefined {
  return error instanceof HaloError && typeof error.cause === 'string' ? error.cause : undefined;
}

/** The message and hint of an error in one line, for the journal and logs. */
export function withHint({ message, hint }: HaloError): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** Converts any thrown value; an unknown error becomes INTERNAL. */
export function toHaloError(error: unknown): HaloError {
  if (error instanceof HaloError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return findOpenFilesError(error) ?? new HaloError('INTERNAL', message, { cause: error });
}

/** Codes of the system for files, connections and programs that cannot be opened because too many are open. */
const OPEN_FILES: Record<string, { what: string; hint: string }> = {
  EMFILE: { what: 'This process has too many files open', hint: 'Raise the limit of open files (ulimit -n).' },
  ENFILE: { what: 'This machine has too many files open', hint: 'Raise the limit of the system (fs.file-max).' },
};

/** The error for a lack of open files, wherever it occurs: it is neither a bug nor an answer of what could not be opened. */
export function findOpenFilesError(error: unknown): HaloError | undefined {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : OPEN_FILES[code];
  return known && new HaloError('DISK_FAILED', `${known.what} (${message}).`, { hint: known.hint, cause: error });
}

/** For `catch`: what cannot be read is missing, unless too many files are open. Throws DISK_FAILED then. */
export function asMissing(error: unknown): undefined {
  const fault = findOpenFilesError(error);
  if (fault !== undefined) throw fault;
}

/** Whether an error message of the system, git or the container engine means "disk full". */
export function isDiskFullMessage(words: string): boolean {
  return /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i.test(words);
}
