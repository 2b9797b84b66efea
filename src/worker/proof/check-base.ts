import { Writable } from 'node:stream';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { describeFailedTests, findFailedTests, type FailedTests } from '../../core/test-report/failed-tests.ts';
import type { Restored } from '../../core/review/restored-paths.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { mirrorName } from '../../git/repository/repo-url.ts';
import { tailSink } from '../../lib/streams.ts';
import { openCheckContext } from './open-check-context.ts';
import { runCommands, setupAndGates, type EndedCommand, type NextCommand } from '../workspace/run-commands.ts';
import { VIEW } from '../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../workspace/step-plan.ts';
import { assertCommandPassed } from '../attempt/assert-command-passed.ts';
import { AttemptEnded } from '../attempt/attempt-outcome.ts';
import { withIntactMirror } from '../repository/with-intact-mirror.ts';
import type { WorkerContext } from '../worker-context.ts';
import { Workspace } from '../workspace/workspace.ts';
import { defined } from '../../lib/guards.ts';

/** How a setup or gate command ended on the base commit. */
export interface CheckedCommand {
  kind: 'setup' | 'gate';
  command: string;
  ms: number;
  /** Why it would fail a story; absent if it exited 0. */
  fault?: { stopReason: StopReason; says: string };
  /** The failed tests, if its output names them. */
  failed?: FailedTests;
  /** Changes of earlier commands that halo undid before it ran. */
  restored?: Restored;
  /** The services whose data was prepared for it, and how long that took, in ms. */
  prepared?: { service: string; ms: number }[];
}

/** What happens during a check, in order. */
export type CheckEvent =
  | { type: 'prepared'; ms: number }
  | { type: 'started'; kind: 'setup' | 'gate'; command: string }
  | { type: 'printed'; bytes: Uint8Array }
  | ({ type: 'ended' } & CheckedCommand);

interface BaseCheck {
  /** The repository that has the commit. */
  gitDir: string;
  commit: string;
  config: Config;
  signal: AbortSignal;
  /** The output waits until it resolves. */
  onEvent: (event: CheckEvent) => Promise<void>;
}

/** How much of a log is searched for failed tests. */
const LOG_BYTES = 8 * 1024 * 1024;

/**
 * Runs setup and gates on a commit as for a story, and removes everything afterwards. Throws if sandboxes cannot start, and
 * RUN_ABORTED if the signal aborts.
 */
export async function checkBase(worker: WorkerContext, { onEvent, ...request }: BaseCheck): Promise<CheckedCommand[]> {
  const { gitDir, commit, config, signal } = request;
  const repo = { source: gitDir, mirror: mirrorName(gitDir) };
  const started = performance.now();
  const context = await withIntactMirror({ home: worker.home, repo }, () =>
    openCheckContext(worker, { name: 'checking', gitDir, commit, story: 'check', config, signal }),
  );
  try {
    const clean = new Workspace(context, 'clean', planCleanSteps(context));
    await clean.checkOut(commit, context.resources.mirrorDir, [VIEW]);
    await onEvent({ type: 'prepared', ms: elapsedSince(started) });
    const checked: CheckedCommand[] = [];
    let log = tailSink(LOG_BYTES);
    let current: NextCommand | undefined;
    let begun = performance.now();
    const openLog = (next: NextCommand) => {
      const { kind, command } = next;
      log = tailSink(LOG_BYTES);
      return forwardOutput(log.sink, { first: { type: 'started', kind, command }, onEvent });
    };
    const commands = setupAndGates(config);
    const onNext = (next: NextCommand) => {
      current = next;
      begun = performance.now();
      return Promise.resolve();
    };
    const plan = { commands, phase: 'baseline' as const, openLog, onNext };
    try {
      for await (const ended of runCommands(context, clean, plan)) {
        if (ended.exit.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The check was stopped.');
        const one = toCheckedCommand(config, ended, log.text());
        checked.push(one);
        await onEvent({ type: 'ended', ...one });
      }
    } catch (error) {
      if (!(error instanceof AttemptEnded) || current === undefined) throw error;
      const { stopReason, summary: says, tail = '' } = error.outcome;
      const { kind, command } = current;
      const one = { kind, command, ms: elapsedSince(begun), fault: { stopReason, says } };
      checked.push(one);
      // The log of a service that failed is all that the command has to show.
      await onEvent({ type: 'printed', bytes: Buffer.from(lastLines(tail)) });
      await onEvent({ type: 'ended', ...one });
    }
    return checked;
  } finally {
    await context.resources.close();
  }
}

const SHOWN_LINES = 20;

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}

function toCheckedCommand(config: Config, ended: EndedCommand, printed: string): CheckedCommand {
  const { kind, command, exit, restored } = ended;
  const prepared = (ended.prepared ?? []).length === 0 ? undefined : [...(ended.prepared ?? [])];
  const one = { kind, command, ms: exit.ms, ...defined({ restored, prepared }) };
  try {
    assertCommandPassed(config, ended, { touched: false });
    return one;
  } catch (error) {
    if (!(error instanceof AttemptEnded)) throw error;
    const { stopReason, summary } = error.outcome;
    const failed = kind === 'gate' ? findFailedTests(printed) : undefined;
    const says = failed === undefined ? summary : `${describeFailedTests(failed)}; ${summary}`;
    return { ...one, fault: { stopReason, says }, ...defined({ failed }) };
  }
}

/** A stream for the output of a command: reports its start, then reports and keeps each chunk. */
function forwardOutput(
  sink: Writable,
  { first, onEvent }: { first: CheckEvent; onEvent: BaseCheck['onEvent'] },
): Writable {
  const begun = onEvent(first);
  return new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      sink.write(bytes);
      void begun.then(() => onEvent({ type: 'printed', bytes })).then(() => done(), done);
    },
  });
}

function elapsedSince(started: number): number {
  return Math.round(performance.now() - started);
}
