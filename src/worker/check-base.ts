import { Writable } from 'node:stream';
import type { Config } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import { describeFailedTests, findFailedTests, type FailedTests } from '../core/test-report/failed-tests.ts';
import type { Restored } from '../core/review/restored-paths.ts';
import type { StopReason } from '../core/failure/stop-reason.ts';
import { mirrorName } from '../git/repository/repo-url.ts';
import { collectText } from '../lib/sinks.ts';
import type { Attempt } from './attempt-context.ts';
import { openOnCommit, runCommands, type EndedCommand, type NextCommand } from './on-commit.ts';
import { VIEW } from './workspace/sandbox-paths.ts';
import { planSteps } from './plan-steps.ts';
import { refuseFailed } from './refuse-failed.ts';
import { AttemptOver } from './story-end.ts';
import { withWholeMirror } from './whole-mirror.ts';
import type { WorkerContext } from './worker-context.ts';
import { openWorkspace } from './workspace.ts';

/** How a command of setup or a gate ended on the commit that stories would build on. */
export interface CheckedCommand {
  kind: 'setup' | 'gate';
  command: string;
  ms: number;
  /** Why it would end a story; absent when it exited 0. */
  fault?: { stopReason: StopReason; says: string };
  /** The tests that failed, where its output names them. */
  failed?: FailedTests;
  /** What halo undid of earlier commands before it ran. */
  restored?: Restored;
}

/** What happens during a check, in order. */
export type CheckEvent =
  | { type: 'prepared'; ms: number }
  | { type: 'started'; kind: 'setup' | 'gate'; command: string }
  | { type: 'printed'; bytes: Uint8Array }
  | ({ type: 'ended' } & CheckedCommand);

export interface BaseCheck {
  /** The repository that has the commit. */
  gitDir: string;
  commit: string;
  config: Config;
  signal: AbortSignal;
  /** Output waits for it. */
  tell: (event: CheckEvent) => Promise<void>;
}

/** As much of a log as failed tests are looked for in. */
const LOG_BYTES = 8 * 1024 * 1024;

/**
 * Runs setup and gates on a commit as a story's are run, in sandboxes of their own, and leaves nothing behind. Throws
 * what keeps sandboxes from starting, and RUN_ABORTED when the signal comes.
 */
export async function checkBase(worker: WorkerContext, { tell, ...request }: BaseCheck): Promise<CheckedCommand[]> {
  const { gitDir, commit, config, signal } = request;
  const repo = { source: gitDir, mirror: mirrorName(gitDir) };
  const story = { id: 'check', title: '' };
  const started = performance.now();
  const attempt = await withWholeMirror({ home: worker.home, repo }, () =>
    openOnCommit(worker, { name: 'checking', gitDir, commit, story, config, signal }),
  );
  try {
    const clean = openWorkspace(attempt, 'clean', planSteps(attempt).cleanSteps);
    await clean.checkOut(commit, attempt.mirrorDir, [VIEW]);
    await tell({ type: 'prepared', ms: elapsedSince(started) });
    const checked: CheckedCommand[] = [];
    let log = collectText(LOG_BYTES);
    const openLog = ({ kind, command }: NextCommand) => {
      log = collectText(LOG_BYTES);
      return passOn(log.sink, { first: { type: 'started', kind, command }, tell });
    };
    for await (const ended of runCommands(attempt, clean, openLog)) {
      if (ended.exit.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The check was stopped.');
      const one = judge(attempt, ended, log.text());
      checked.push(one);
      await tell({ type: 'ended', ...one });
    }
    return checked;
  } finally {
    await attempt.close();
  }
}

function judge(attempt: Attempt, ended: EndedCommand, printed: string): CheckedCommand {
  const { kind, command, exit, restored } = ended;
  const one = { kind, command, ms: exit.ms, ...(restored === undefined ? {} : { restored }) };
  try {
    refuseFailed(attempt, ended, { touched: false });
    return one;
  } catch (error) {
    if (!(error instanceof AttemptOver)) throw error;
    const { stopReason, summary } = error.end;
    const failed = kind === 'gate' ? findFailedTests(printed) : undefined;
    const says = failed === undefined ? summary : `${describeFailedTests(failed)}; ${summary}`;
    return { ...one, fault: { stopReason, says }, ...(failed === undefined ? {} : { failed }) };
  }
}

/** Takes the output of a command: first says that it starts, then passes on and keeps what it prints. */
function passOn(sink: Writable, { first, tell }: { first: CheckEvent; tell: BaseCheck['tell'] }): Writable {
  const begun = tell(first);
  return new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      sink.write(bytes);
      void begun.then(() => tell({ type: 'printed', bytes })).then(() => done(), done);
    },
  });
}

function elapsedSince(started: number): number {
  return Math.round(performance.now() - started);
}
