import type { Submitted, SubmitRequest } from '../../api/operations/schemas.ts';
import type { Operations } from '../../api/operations.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { askApproval } from './ask-approval.ts';
import type { Cli } from '../cli.ts';
import { followRun, type FollowRun } from './follow-run.ts';
import { StopControl } from './stop-control.ts';

/** A run that was followed, while the operations are still open. */
export interface Followed {
  operations: Operations;
  runId: string;
  /** Undefined if it continues without this process. */
  end: StopReason | undefined;
}

export interface RunHere<T> {
  cli: Cli;
  json: boolean;
  /** Ask the user at the terminal if a story waits for approval. */
  asks: boolean;
  /** The first Ctrl-C at a terminal lets running stories finish. */
  gentle?: true;
  /** Execute it on this machine, even if HALO_URL is set. */
  local?: boolean;
  /** Without a terminal, stdout has nothing but the run directory. */
  quiet?: boolean;
  /** Whether the end is reported here; otherwise `finish` reports it. */
  report?: 'none';
  /** Called when the run exists, before its first step. */
  begin?: (runId: string, operations: Operations) => Promise<void>;
  finish: (followed: Followed) => Promise<T>;
}

/** Submits one run, executes it in this process unless a server does, shows it until it ends and stops it on Ctrl-C. */
export function runHere<T>(request: SubmitRequest, how: RunHere<T>): Promise<T> {
  return submitHere((operations) => operations.submit(request), how);
}

/** The same for what `submit` submits. */
export function submitHere<T>(
  submit: (operations: Operations) => Promise<{ runs: Submitted[] }>,
  how: RunHere<T>,
): Promise<T> {
  return carryOut(async (operations, remote) => {
    const { runs } = await submit(operations);
    const [submitted] = runs;
    if (submitted === undefined) throw new Error('the submit made no run');
    return { ...submitted, executed: !remote, after: 0 };
  }, how);
}

/** An existing run that may start or continue. */
export interface Startable {
  runId: string;
  warnings: string[];
  parallel: number;
  owner?: string | undefined;
  /** Whether this process executes the run. */
  executed: boolean;
  /** The `seq` of the event after which lines begin. */
  after: number;
}

/** The same for a run that `start` creates or finds; `start` receives whether the operations are those of a server. */
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
  const stop = new StopControl({ cli, operations, gentle: how.gentle === true && !json && cli.terminal.drawable });
  cli.sayWhenEnded(undefined);
  try {
    const { runId, warnings, owner, parallel, executed, after } = await start(operations, remote);
    const mayStart = await stop.begin({ runId, executed });
    await how.begin?.(runId, operations);
    const worker =
      executed && mayStart ? await services.startWorker({ concurrency: parallel, log: 'file', owner }) : undefined;
    try {
      const said = warnings.map((text) => safeLine(text, 500));
      await cli.note(...said.map((text) => `${cli.paintErr('warn', 'warning:')} ${text}`));
      const notes = said.map((text) => `warning: ${text}`);
      const following = {
        operations,
        runId,
        cli,
        json,
        after,
        executed,
        report: how.report !== 'none',
        quiet: how.quiet,
        notes,
        stop,
      };
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
    stop.close();
    await operations.close();
  }
}

/** Follows the run to its end; undefined if it continues without this process. */
async function follow({ stop, ...shown }: Omit<FollowRun, 'signal' | 'onDrawn'> & { stop: StopControl }) {
  const end = await followRun({ ...shown, signal: stop.signal, onDrawn: (say) => stop.attachDisplay(say) });
  await stop.settle();
  return end;
}
