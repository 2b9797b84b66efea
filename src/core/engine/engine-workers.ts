/** The worker of an engine, as the process that watches it knows it. */
export interface WatchedWorker {
  /** What it was started with: a worker with other settings is replaced. */
  settings: string;
  /** `ended`: it starts again later. */
  state: 'runs' | 'stops' | 'ended';
  /** Since when it runs, or when it starts again, in ms. */
  at: number;
  /** How often it has ended soon after its start, without one that ran longer in between. */
  failures: number;
}

/** What to do about the worker of an engine. */
export interface WorkerStep {
  engine: string;
  do: 'start' | 'stop' | 'forget';
}

/** Compares the engines that need a worker, with its settings, with those that have one. */
export function workerSteps(
  wanted: ReadonlyMap<string, string>,
  watched: ReadonlyMap<string, WatchedWorker>,
  now: number,
): WorkerStep[] {
  const steps: WorkerStep[] = [];
  for (const [engine, { settings, state, at }] of watched) {
    const isSame = wanted.get(engine) === settings;
    if (state === 'runs' && !isSame) steps.push({ engine, do: 'stop' });
    if (state === 'ended' && !wanted.has(engine)) steps.push({ engine, do: 'forget' });
    if (state === 'ended' && wanted.has(engine) && (!isSame || at <= now)) steps.push({ engine, do: 'start' });
  }
  for (const engine of wanted.keys()) if (!watched.has(engine)) steps.push({ engine, do: 'start' });
  return steps;
}

/** A worker that ran for this time is not one that cannot start. */
const STEADY_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

/** A worker that has ended: it starts again after a time that doubles with each failure, at most a minute. */
export function afterEnd({ settings, at, failures: before }: WatchedWorker, now: number): WatchedWorker {
  const failures = now - at >= STEADY_MS ? 1 : before + 1;
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 10));
  return { settings, state: 'ended', at: now + delayMs, failures };
}
