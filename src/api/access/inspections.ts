import { limitGit, QUESTION_MS } from '../../git/process/git-limits.ts';
import { UserTurns } from './user-turns.ts';

/**
 * Limits operations that read repositories on the machine of the server: few of one user run at the same time, and their git
 * processes end soon, and when the client leaves.
 */
export class Inspections {
  readonly #turns = new UserTurns({ running: 4, max: 64, what: 'submits' });
  readonly #gitMs: number;

  constructor({ gitMs = QUESTION_MS }: { gitMs?: number } = {}) {
    this.#gitMs = gitMs;
  }

  /** Throws TOO_MANY_REQUESTS, RUN_ABORTED, and what `work` throws. */
  run<T>(user: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(user, () => limitGit({ timeoutMs: this.#gitMs, signal }, work), signal);
  }
}
