import type { Dispatch } from './scheduler/scheduler-client.ts';
import type { Entry, Question } from './turns.ts';

/** A worker among the others: it says that it is there, renews the turns it has, and wakes jobs whose time has come. */
export interface TakeTurns {
  start(): Promise<void>;
  /** Whether a job that was taken may be worked on now. */
  begin(id: string): Promise<boolean>;
  /** A job is done, for good. */
  finish(id: string): Promise<void>;
  /** A job waits for another turn, after that time. */
  later(id: string, delayMs: number): Promise<void>;
  /** A job is worked on elsewhere, or later; its turn goes on until it lapses. */
  leave(id: string): void;
  /** Wants no more jobs. */
  retire(): Promise<void>;
  stop(): Promise<void>;
}

/** Turns last thirty times as long, so that a slow moment costs none. */
const TICK_MS = 1000;

/** `worker.slots`: how many jobs it takes at once. */
export function takeTurns(
  dispatch: Dispatch,
  { worker, onError }: { worker: NonNullable<Question['worker']>; onError: (error: Error) => void },
): TakeTurns {
  const working = new Map<string, Entry>();
  let slots = worker.slots;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let asking = Promise.resolve();
  const tell = (question: Question) =>
    dispatch.tell(() => ({ ...question, working: Object.fromEntries(working), worker: { ...worker, slots } }));
  const plan = (ms: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(tick, ms).unref();
  };
  const tick = () => {
    asking = tell({})
      .then(({ soonestMs = TICK_MS }) => plan(Math.min(soonestMs, TICK_MS)))
      .catch((error: unknown) => {
        if (stopped) return;
        onError(error as Error);
        plan(TICK_MS);
      });
  };
  /** What a question brought to light may be due before the next tick. */
  const soon = ({ soonestMs }: { soonestMs: number | undefined }) => {
    if (soonestMs !== undefined && soonestMs < TICK_MS) plan(soonestMs);
  };
  return {
    async start() {
      soon(await tell({}));
      if (timer === undefined) plan(TICK_MS);
    },
    async begin(id) {
      const answer = await tell({ begin: { id, host: worker.host } });
      soon(answer);
      const entry = answer.begun;
      if (entry !== undefined) working.set(id, entry);
      return entry !== undefined;
    },
    async finish(id) {
      working.delete(id);
      soon(await tell({ finish: id }));
    },
    async later(id, delayMs) {
      working.delete(id);
      soon(await tell({ later: { id, delayMs } }));
    },
    leave: (id) => void working.delete(id),
    async retire() {
      slots = 0;
      await tell({});
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await asking;
    },
  };
}
