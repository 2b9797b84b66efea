import type { Operations, SubmitRequest } from '../api/operations.ts';
import { safeLine } from '../core/safe-text.ts';
import { exitCodeOf, type StopReason } from '../core/stop-reason.ts';
import { askApproval } from './ask-approval.ts';
import type { Cli } from './cli.ts';
import type { Worker } from './compose.ts';
import { followRun } from './follow-run.ts';

/** A run that was followed, while the operations are still open. */
export interface Followed {
  operations: Operations;
  runId: string;
  /** Undefined when it goes on without us. */
  end: StopReason | undefined;
}

export interface RunHere<T> {
  cli: Cli;
  json: boolean;
  /** Ask the person at the terminal when a story waits for one. */
  asks: boolean;
  /** Execute it on this machine, whatever HALO_URL says. */
  local?: boolean;
  /** Whether its end is reported here; else `finish` says what came of it. */
  report?: 'none';
  /** Called when the run is there, before its first step. */
  begin?: (runId: string, operations: Operations) => Promise<void>;
  finish: (followed: Followed) => Promise<T>;
}

/** Submits one run, executes it in this process unless a server does, shows it to its end and stops it on Ctrl-C. */
export function runHere<T>(request: SubmitRequest, how: RunHere<T>): Promise<T> {
  return carryOut(async (operations, remote) => {
    const [submitted] = await operations.submit(request);
    if (submitted === undefined) throw new Error('the submit made no run');
    return { ...submitted, executed: !remote, after: 0 };
  }, how);
}

/** A run that is there and may begin or go on. */
export interface Startable {
  runId: string;
  warnings: string[];
  parallel: number;
  owner?: string;
  /** Whether this process works on it. */
  executed: boolean;
  /** Lines tell of it from here on: the `seq` of an event. */
  after: number;
}

/** The same for a run that `start` makes or finds; it is told whether the operations are those of a server. */
export async function carryOut<T>(
  start: (operations: Operations, remote: boolean) => Promise<Startable>,
  { cli, json, asks, ...how }: RunHere<T>,
): Promise<T> {
  const { services } = cli;
  const remote = how.local !== true && (await services.readHost()).apiUrl !== undefined;
  const executesHere = { executesHere: true };
  const operations = await (how.local === true
    ? services.openLocal(executesHere)
    : services.openOperations(executesHere));
  try {
    const { runId, warnings, owner, parallel, executed, after } = await start(operations, remote);
    await how.begin?.(runId, operations);
    const worker = !executed ? undefined : await services.startWorker({ concurrency: parallel, log: 'file', owner });
    try {
      await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`));
      const following = { operations, worker, cli, json, after, report: how.report !== 'none' };
      let end = await follow(runId, following);
      while (end === 'NEEDS_HUMAN' && asks && (await askApproval(operations, runId, cli)))
        end = await follow(runId, following);
      return await how.finish({ operations, runId, end });
    } finally {
      await worker?.close();
    }
  } finally {
    await operations.close();
  }
}

interface Following {
  operations: Operations;
  /** Absent when the run is executed elsewhere. */
  worker: Worker | undefined;
  cli: Cli;
  json: boolean;
  after: number;
  report: boolean;
}

const ABORTED = exitCodeOf('USER_ABORT');

/** Follows the run to its end; undefined when it goes on without us. */
async function follow(runId: string, { operations, worker, ...shown }: Following): Promise<StopReason | undefined> {
  const { cli } = shown;
  let say = (line: string): void => void cli.note(line);
  const leave = new AbortController();
  let stopping: Promise<void> | undefined;
  const off = cli.onStop(() => {
    if (stopping !== undefined) return leaveAtOnce();
    stopping = stop().catch((error: unknown) => leave.abort(error));
  });
  async function stop(): Promise<void> {
    if (worker === undefined) {
      leave.abort();
      return say(
        `no longer following; the run goes on. \`halo logs ${runId} -f\` follows it again, \`halo cancel ${runId}\` ends it.`,
      );
    }
    say('stopping: the attempt under way is given up, what landed stays. Ctrl-C again exits at once.');
    await operations.cancel(runId, undefined);
  }
  /** The run may be cancelled by now or not: what is named fits both. */
  function leaveAtOnce(): void {
    const next = `\`halo status ${runId}\` shows how the run stands,\n\`halo cancel ${runId}\` ends it.`;
    if (worker !== undefined) say(`left at once. ${next}`);
    cli.exitNow(ABORTED);
  }
  try {
    const signal = leave.signal;
    const end = await followRun({ operations, runId, ...shown, signal, onDrawn: (drawn) => (say = drawn) });
    await stopping;
    return end;
  } finally {
    off();
  }
}
