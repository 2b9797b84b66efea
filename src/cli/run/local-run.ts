import type { Operations, SubmitRequest } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { askApproval } from './ask-approval.ts';
import type { Cli } from '../cli.ts';
import { followRun, type FollowRun } from './follow-run.ts';
import { openStopControl, type StopControl } from '../stop-control.ts';

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
  /** The first Ctrl-C at a terminal lets the stories under way come to their end. */
  gentle?: true;
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
  const stop = openStopControl({ cli, operations, gentle: how.gentle === true && !json && cli.terminal.drawable });
  try {
    const { runId, warnings, owner, parallel, executed, after } = await start(operations, remote);
    const goesOn = await stop.begin({ runId, executed });
    await how.begin?.(runId, operations);
    const worker =
      executed && goesOn ? await services.startWorker({ concurrency: parallel, log: 'file', owner }) : undefined;
    try {
      await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`));
      const following = { operations, runId, cli, json, after, executed, report: how.report !== 'none', stop };
      let end = await follow(following);
      while (end === 'NEEDS_HUMAN' && asks && (await askApproval(operations, runId, cli))) {
        stop.listen();
        end = await follow(following);
      }
      return await how.finish({ operations, runId, end });
    } finally {
      await worker?.close();
    }
  } finally {
    stop.release();
    await operations.close();
  }
}

/** Follows the run to its end; undefined when it goes on without us. */
async function follow({ stop, ...shown }: Omit<FollowRun, 'signal' | 'onDrawn'> & { stop: StopControl }) {
  const end = await followRun({ ...shown, signal: stop.signal, onDrawn: (say) => stop.drawn(say) });
  await stop.settle();
  return end;
}
