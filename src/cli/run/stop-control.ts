import type { Operations } from '../../api/operations.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import { withTimeout } from '../../lib/async.ts';
import type { Cli } from '../cli.ts';

interface StopOptions {
  cli: Cli;
  operations: Operations;
  /** The first Ctrl-C at a terminal lets running stories finish. */
  gentle: boolean;
}

const ABORTED = exitCodeOf('USER_ABORT');
/** Maximum time to wait for the journal before exiting. */
const RECORD_MS = 3000;

/**
 * Ctrl-C, termination signals and keys while a run is followed. What a person asked for is in the journal before it is
 * printed. Listens from its construction until `close`.
 */
export class StopControl {
  private readonly options: StopOptions;
  private readonly following = new AbortController();
  private readonly started = withResolvers();
  private run: { runId: string; executed: boolean } | undefined;
  private intent: 'finish-stories' | 'cancel' | 'detach' | undefined;
  /** Settles when the journal has what the person asked for. */
  private recorded: Promise<unknown> = Promise.resolve();
  private failure: unknown;
  private print: (line: string) => void;
  private stopSignals: () => void;
  private stopKeys = (): void => undefined;

  constructor(options: StopOptions) {
    this.options = options;
    this.print = this.printNote;
    this.stopSignals = options.cli.onStop(this.onStop);
  }

  /** Aborted when following ends before the run does. */
  get signal(): AbortSignal {
    return this.following.signal;
  }

  /** Names the run as soon as it exists. Returns whether it may start: false if it was stopped before. */
  async begin(run: { runId: string; executed: boolean }): Promise<boolean> {
    this.run = run;
    if (this.intent !== undefined) this.carryOut(run);
    this.started.resolve();
    const stopped = this.intent !== undefined;
    if (stopped) await this.recorded;
    return !stopped;
  }

  /** Listens again, after `settle`. */
  listen(): void {
    this.stopSignals();
    this.stopSignals = this.options.cli.onStop(this.onStop);
  }

  /** While a display is drawn: prints through it and reads its keys. */
  attachDisplay(print: (line: string) => void): void {
    this.print = print;
    this.stopKeys = this.options.cli.onKey((key) => {
      if (key === 'd') this.detach().catch(this.fail);
    });
  }

  /** After following: stops listening and waits for the journal. Throws why recording failed. */
  async settle(): Promise<void> {
    this.close();
    await this.recorded;
    if (this.failure !== undefined) throw toHaloError(this.failure);
  }

  /** Stops listening for signals and keys. */
  close(): void {
    this.stopKeys();
    this.stopSignals();
    this.print = this.printNote;
  }

  private readonly printNote = (line: string): void => void this.options.cli.note(line);

  private readonly fail = (error: unknown): void => {
    this.failure = error;
    this.following.abort();
  };

  /** For commands to a run that may have ended in the meantime. */
  private readonly failUnlessEnded = (error: unknown): void => {
    if (!(error instanceof HaloError && error.code === 'CONTROL_REFUSED')) this.fail(error);
  };

  private readonly onStop = (signal?: NodeJS.Signals): void => {
    if (signal === undefined && this.run?.executed !== false) return this.print(OUTPUT_CLOSED);
    if (this.intent === 'cancel' || this.intent === 'detach') return this.exitNow();
    const mayFinish = this.options.gentle && signal === 'SIGINT' && this.run?.executed === true;
    this.intent = mayFinish && this.intent === undefined ? 'finish-stories' : 'cancel';
    if (this.run === undefined)
      return this.print('stopping before the first story starts. Ctrl-C again exits immediately.');
    this.carryOut(this.run);
  };

  private carryOut({ runId, executed }: { runId: string; executed: boolean }): void {
    if (!executed) {
      this.following.abort();
      return this.print(
        `no longer following; the run continues. \`halo logs ${runId} -f\` follows it again, \`halo cancel ${runId}\` cancels it.`,
      );
    }
    const command = this.intent === 'finish-stories' ? this.finishStories(runId) : this.cancel(runId);
    this.recorded = command.catch(this.failUnlessEnded);
  }

  private async cancel(runId: string): Promise<void> {
    const done = this.options.operations.cancel({ runId });
    this.print('stopping: the running attempt is aborted, passed stories stay. Ctrl-C again exits immediately.');
    await done;
  }

  /** Pauses the run, so that no worker starts another story even if this process is killed, and cancels it afterwards. */
  private async finishStories(runId: string): Promise<void> {
    const { operations } = this.options;
    const { stories } = await operations.pause({ runId, now: false });
    const names = stories.map((id) => safeLine(id)).join(', ');
    if (stories.length === 0) this.print('stopping: no story is running.');
    else this.print(`stopping after ${names}: no other story starts. ${KEYS_WHILE_STOPPING}`);
    void untilIdle(operations, runId, this.signal)
      .then(async () => {
        if (this.intent === 'finish-stories') await operations.cancel({ runId });
      })
      .catch(this.failUnlessEnded);
  }

  private exitNow(): void {
    const recorded = this.started.promise.then(() => this.recorded);
    void withTimeout(RECORD_MS, recorded)
      .catch(() => undefined)
      .then(() => {
        if (this.run?.executed === true)
          this.print(
            `exited immediately. \`halo status ${this.run.runId}\` shows the state of the run,\n\`halo cancel ${this.run.runId}\` cancels it.`,
          );
        this.options.cli.exitNow(ABORTED);
      });
  }

  /** Leaves the run to the workers of this machine. */
  private async detach(): Promise<void> {
    const { cli, operations } = this.options;
    if (this.run === undefined || this.intent === 'cancel' || this.intent === 'detach') return;
    const { runId } = this.run;
    if (this.run.executed && (await cli.services.countWorkers()) === 0)
      return this.print('no worker can continue the run. Start `halo worker` in another terminal, then press d again.');
    if (this.intent === 'finish-stories') await operations.resume({ runId });
    this.intent = 'detach';
    this.print(
      `left to the workers. \`halo logs ${runId} -f\` follows the run again, \`halo cancel ${runId}\` cancels it.`,
    );
    this.following.abort();
  }
}

/** Printed if the reader has closed only one of stdout and stderr. */
export const OUTPUT_CLOSED = 'the output is closed; the work continues';
const KEYS_WHILE_STOPPING = 'Ctrl-C again stops it now, d leaves the run to the workers.';

/** Resolves when no attempt of the run is under way, or it has ended. */
export async function untilIdle(
  operations: Pick<Operations, 'getRun' | 'followEvents'>,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  let state: RunState | undefined;
  const { seq } = (await operations.getRun({ runId })).state;
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true }, signal)) {
    state = applyEvent(state, event);
    if (state === undefined || state.seq < seq) continue;
    const under = state.stories.some(({ progress, waiting }) => progress === 'in_progress' && waiting === undefined);
    if (state.status === 'ended' || !under) return;
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
