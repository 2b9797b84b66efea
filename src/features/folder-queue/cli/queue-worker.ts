import type { LocalOperations } from '../../../api/local.ts';
import type { RunView } from '../../../api/operations/runs.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli } from '../../../cli/cli.ts';
import type { LocalWorker } from '../../../cli/compose.ts';
import { OUTPUT_CLOSED, untilIdle } from '../../../cli/run/stop-control.ts';

/**
 * Executes the runs of a queue in this process if no worker takes them, and ends the queue on Ctrl-C. At a terminal, the
 * first Ctrl-C lets the running stories finish. Runs stay open, so that the next queue continues them. Listens from its
 * construction until `close`.
 */
export class QueueWorker {
  readonly #cli: Cli;
  /** Undefined: a server executes the runs. */
  readonly #operations: LocalOperations | undefined;
  readonly #stopped = new AbortController();
  readonly #finishing = new AbortController();
  readonly #off: () => void;
  #worker: LocalWorker | undefined;
  #runId: string | undefined;
  /** Settles when the running run is paused and has no running story. */
  #finished: Promise<void> | undefined;

  constructor(cli: Cli, operations: LocalOperations | undefined) {
    this.#cli = cli;
    this.#operations = operations;
    this.#off = cli.onStop(this.#onStop);
  }

  /** Aborted: the queue ends. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Aborted: the queue begins no other PRD. */
  get finishing(): AbortSignal {
    return this.#finishing.signal;
  }

  /** Takes an open run unless a worker would. Returns whether this process executes it. */
  async take({ state, workers }: RunView): Promise<boolean> {
    const { runId, parallel } = state;
    if (this.#operations !== undefined && workers === 0) {
      const { owner } = await this.#operations.claim(runId);
      if (owner !== undefined && this.#worker === undefined) {
        this.#worker = await this.#cli.services.startWorker({ concurrency: parallel, log: 'file', owner });
        await this.#cli.note('no worker is running: this process executes the runs; `halo top` shows them');
      }
    }
    if (this.#worker !== undefined) this.#runId = runId;
    return this.#worker !== undefined;
  }

  /** Stops listening, and the worker of this process. The run that it was executing may continue elsewhere. */
  async close(): Promise<void> {
    this.#off();
    await this.#finished;
    await this.#worker?.close();
    // It may have ended, or its PRD may have changed: it then says so.
    if (this.#finished !== undefined && this.#runId !== undefined)
      await this.#operations?.resume({ runId: this.#runId }).catch(() => undefined);
  }

  readonly #onStop = (signal?: NodeJS.Signals): void => {
    const { terminal, exitNow } = this.#cli;
    if (signal === undefined) return void this.#cli.note(OUTPUT_CLOSED);
    if (this.#stopped.signal.aborted) return exitNow(exitCodeOf('USER_ABORT'));
    const mayFinish = terminal.drawable && signal === 'SIGINT' && !this.#finishing.signal.aborted;
    this.#finishing.abort();
    if (mayFinish && this.#worker !== undefined && this.#runId !== undefined) {
      this.#finished = this.#finishStories(this.#runId).catch(() => this.#stopped.abort());
      return;
    }
    void this.#cli.note(
      this.#worker === undefined
        ? 'stopping; a run that has begun continues'
        : 'stopping: the running attempt is interrupted, and the next `halo queue` repeats it. Ctrl-C again exits immediately.',
    );
    this.#stopped.abort();
  };

  async #finishStories(runId: string): Promise<void> {
    if (this.#operations === undefined) return;
    const { stories } = await this.#operations.pause({ runId, now: false });
    const names = stories.map((id) => safeLine(id)).join(', ');
    await this.#cli.note(
      stories.length === 0
        ? 'stopping: no story is running.'
        : `stopping after ${names}: no other story starts, and the next \`halo queue\` continues. Ctrl-C again stops it now.`,
    );
    await untilIdle(this.#operations, runId, this.#stopped.signal);
    this.#stopped.abort();
  }
}
