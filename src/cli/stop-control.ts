import type { Operations } from '../api/operations.ts';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import { applyEvent } from '../core/journal/fold-run.ts';
import type { RunState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { exitCodeOf } from '../core/failure/stop-reason.ts';
import { atMost } from '../lib/at-most.ts';
import type { Cli } from './cli.ts';

/** Ctrl-C, termination signals and keys while a run is followed: what they do is in the journal before it is told. */
export interface StopControl {
  /** Aborted when following ends before the run does. */
  signal: AbortSignal;
  /** Names the run as soon as it is there. Answers whether it may start: false when it was stopped before that. */
  begin(run: { runId: string; executed: boolean }): Promise<boolean>;
  /** Listens again, after `settle`. */
  listen(): void;
  /** Text and keys go through the frame while one is drawn. */
  drawn(say: (line: string) => void): void;
  /** When following has ended: lets go of signals and keys, waits for what was asked for, throws what stood against it. */
  settle(): Promise<void>;
  release(): void;
}

export interface StopOptions {
  cli: Cli;
  operations: Operations;
  /** The first Ctrl-C at a terminal lets the stories under way come to their end. */
  gentle: boolean;
}

const ABORTED = exitCodeOf('USER_ABORT');
/** How long leaving waits until the journal has what the person wanted. */
const RECORD_MS = 3000;

/** Listens from now on. */
export function openStopControl({ cli, operations, gentle }: StopOptions): StopControl {
  let say = (line: string): void => void cli.note(line);
  let run: { runId: string; executed: boolean } | undefined;
  let wanted: 'rest' | 'cancel' | 'leave' | undefined;
  let failure: unknown;
  const leave = new AbortController();
  const known = withResolvers();
  let recorded: Promise<unknown> = Promise.resolve();

  function onStop(signal?: NodeJS.Signals): void {
    if (wanted === 'cancel' || wanted === 'leave') return leaveNow();
    const rests = gentle && signal === 'SIGINT' && wanted === undefined && run?.executed === true;
    wanted = rests ? 'rest' : 'cancel';
    if (run === undefined) return say('stopping before the first story starts. Ctrl-C again exits at once.');
    obey(run);
  }

  function obey({ runId, executed }: { runId: string; executed: boolean }): void {
    if (!executed) {
      leave.abort();
      return say(
        `no longer following; the run continues. \`halo logs ${runId} -f\` follows it again, \`halo cancel ${runId}\` ends it.`,
      );
    }
    recorded = (wanted === 'rest' ? rest(runId) : cancel(runId)).catch((error: unknown) => {
      // It may have come to its end meanwhile.
      if (error instanceof HaloError && error.code === 'STEER_REFUSED') return;
      failure = error;
      leave.abort();
    });
  }

  async function cancel(runId: string): Promise<void> {
    const done = operations.cancel(runId, undefined);
    say('stopping: the attempt under way is given up, what landed stays. Ctrl-C again exits at once.');
    await done;
  }

  /** No worker starts another story from here on, also when this process is killed. */
  async function rest(runId: string): Promise<void> {
    const { stories } = await operations.pause(runId, { now: false });
    if (stories.length === 0) say('stopping: no story is under way.');
    else say(`stopping after ${stories.map((id) => safeLine(id)).join(', ')}: no other story starts. ${KEYS_AT_REST}`);
    void untilAtRest(operations, runId, leave.signal)
      .then(async () => (wanted === 'rest' ? void (await operations.cancel(runId, undefined)) : undefined))
      .catch((error: unknown) => {
        if (error instanceof HaloError && error.code === 'STEER_REFUSED') return;
        failure = error;
        leave.abort();
      });
  }

  function leaveNow(): void {
    void atMost(
      RECORD_MS,
      known.promise.then(() => recorded),
    )
      .catch(() => undefined)
      .then(() => {
        if (run?.executed === true)
          say(
            `left at once. \`halo status ${run.runId}\` shows how the run stands,\n\`halo cancel ${run.runId}\` ends it.`,
          );
        cli.exitNow(ABORTED);
      });
  }

  /** Leaves the run to the workers of this machine. */
  async function detach(): Promise<void> {
    if (run === undefined || wanted === 'cancel' || wanted === 'leave') return;
    const { runId } = run;
    if (run.executed && (await cli.services.countWorkers()) === 0)
      return say(
        'no worker is there to continue the run. Start `halo worker` in another terminal, then press d again.',
      );
    if (wanted === 'rest') await operations.resume(runId, {});
    wanted = 'leave';
    say(`left to the workers. \`halo logs ${runId} -f\` follows the run again, \`halo cancel ${runId}\` ends it.`);
    leave.abort();
  }

  let off = cli.onStop(onStop);
  let offKeys = (): void => undefined;
  const release = () => {
    offKeys();
    off();
    say = (line) => void cli.note(line);
  };
  return {
    signal: leave.signal,
    listen() {
      off();
      off = cli.onStop(onStop);
    },
    async begin(made) {
      run = made;
      if (wanted !== undefined) obey(made);
      known.resolve();
      const stopped = wanted !== undefined;
      if (stopped) await recorded;
      return !stopped;
    },
    drawn(drawn) {
      say = drawn;
      offKeys = cli.onKey((key) => {
        if (key === 'd')
          detach().catch((error: unknown) => {
            failure = error;
            leave.abort();
          });
      });
    },
    async settle() {
      release();
      await recorded;
      if (failure !== undefined) throw toHaloError(failure);
    },
    release,
  };
}

const KEYS_AT_REST = 'Ctrl-C again stops it now, d leaves the run to the workers.';

/** Resolves when no attempt of the run is under way, or it has ended. */
async function untilAtRest(operations: Operations, runId: string, signal: AbortSignal): Promise<void> {
  let state: RunState | undefined;
  const { seq } = (await operations.get(runId)).state;
  for await (const event of operations.follow(runId, { after: 0, follow: true, signal })) {
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
