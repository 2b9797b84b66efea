import { PassThrough, type Writable } from 'node:stream';
import type { Config } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { StopReason } from '../../../core/failure/stop-reason.ts';
import { takeBundle, type BundledCommit } from '../../../git/commit/bundle.ts';
import { readParents } from '../../../git/commit/read-commits.ts';
import { mirrorName } from '../../../git/repository/repo-url.ts';
import { maskingSink } from '../../../lib/secrets/masker.ts';
import { discardSink } from '../../../lib/streams.ts';
import type { SandboxExit, Terminal } from '../../../sandbox/sandbox.ts';
import { AttemptEnded, findExitFailure } from '../../../worker/attempt/attempt-outcome.ts';
import { onLayer, type SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { wrapWithForwarder } from '../../../worker/network/channel.ts';
import { openCheckContext } from '../../../worker/proof/open-check-context.ts';
import { withIntactMirror } from '../../../worker/repository/with-intact-mirror.ts';
import { findLayer } from '../../../worker/snapshot/open-layer.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import type { Checkout } from '../../../worker/workspace/checkout-script.ts';
import { runInHelper, startHelper } from '../../../worker/workspace/helper-sandbox.ts';
import { openRestorer } from '../../../worker/workspace/restore-tree.ts';
import { setupCommands } from '../../../worker/workspace/run-commands.ts';
import { runStep } from '../../../worker/workspace/run-step.ts';
import { CANDIDATE, VIEW, WORKSPACE } from '../../../worker/workspace/sandbox-paths.ts';
import { debugStep, planSetup } from '../../../worker/workspace/step-plan.ts';
import { Workspace, type StartedStep } from '../../../worker/workspace/workspace.ts';
import type { DebugPoint } from '../core/choose-state.ts';

/** Where the change of an attempt is: in the repository, or in a bundle among its artifacts. */
export type DebugChange = { landed: string } | { bundled: BundledCommit; file: string };

interface DebugCommand {
  /** For a shell. */
  command: string;
  stdout: Writable;
  stderr: Writable;
}

/** What is run in the copy: one command, or a shell on the terminal of a person. */
export type DebugProgram = DebugCommand | { terminal: Terminal };

export interface DebugRequest {
  at: DebugPoint;
  /** The id of the story. */
  story: string;
  /** The commit that the attempt began with. */
  base: string;
  /** What it changed; undefined: nothing that was kept. */
  change: DebugChange | undefined;
  /** The repository that has the base. */
  gitDir: string;
  /** With the image of the attempt. */
  config: Config;
  program: DebugProgram;
  signal: AbortSignal;
  /** Called while the copy is prepared, and when it is ready. */
  tell: (event: DebugEvent) => Promise<void>;
}

export type DebugEvent =
  | { type: 'snapshot'; key: string }
  | { type: 'setup'; command: string; exitCode: number | undefined; tail: string }
  | { type: 'ready' };

/** How it ended: `exitCode` of the command; undefined if it was stopped, for the reason that `stopped` says. */
export interface DebugEnd {
  exitCode: number | undefined;
  stopped?: { stopReason: StopReason; summary: string };
}

/**
 * Makes a sealed copy of a state of an attempt, runs a program in it as in the place of a gate, and removes it. Throws like
 * a check, and RUN_ABORTED if the signal aborts before the program runs.
 */
export async function runDebug(worker: WorkerContext, request: DebugRequest): Promise<DebugEnd> {
  const { gitDir, story, config, signal } = request;
  const first = await findBase(request);
  const commit = request.change !== undefined && 'landed' in request.change ? request.change.landed : first;
  const context = await withIntactMirror(
    { home: worker.home, repo: { source: gitDir, mirror: mirrorName(gitDir) } },
    () => openCheckContext(worker, { name: 'debugging', gitDir, commit, story, config, signal }),
  );
  try {
    return await debugIn(context, request, first);
  } catch (error) {
    if (!(error instanceof AttemptEnded)) throw error;
    const { stopReason, summary } = error.outcome;
    return { exitCode: undefined, stopped: { stopReason, summary } };
  } finally {
    await context.resources.close();
  }
}

/** The parent of the change: the attempt may have been merged onto a later commit than it began with. */
async function findBase({ base, change, gitDir }: DebugRequest): Promise<string> {
  if (change === undefined) return base;
  if ('bundled' in change) return change.bundled.parent;
  return (await readParents(gitDir, change.landed))[0] ?? base;
}

async function debugIn(context: SandboxContext, request: DebugRequest, base: string): Promise<DebugEnd> {
  const { at, program, tell } = request;
  const before: Checkout = { commit: base, gitDir: context.resources.mirrorDir, sources: [VIEW] };
  const after = await openChange(context, request, base);
  const checkout = at === 'gates' ? (after ?? before) : before;
  const layer = await findLayer(context, checkout);
  if (layer !== undefined) await tell({ type: 'snapshot', key: layer.key });
  const prepared = onLayer(context, layer);
  const workspace = new Workspace(prepared, 'debug', [...planSetup(prepared), debugStep(prepared, at)]);
  await workspace.checkOut(checkout.commit, checkout.gitDir, checkout.sources);
  await runSetup(prepared, workspace, tell);
  if (at === 'agent' && after !== undefined) await applyChange(prepared, workspace, { base, after });
  const step = await workspace.takeNext();
  await step.services?.ready('baseline');
  context.signal.throwIfAborted();
  await tell({ type: 'ready' });
  try {
    return 'terminal' in program ? await runShell(prepared, step, program) : await runCommand(prepared, step, program);
  } finally {
    await step.services?.end({ failed: false });
  }
}

/** Makes the change available to the sandboxes. */
async function openChange(
  { resources }: SandboxContext,
  { change }: DebugRequest,
  base: string,
): Promise<Checkout | undefined> {
  const { mirrorDir, candidateDir } = resources;
  if (change === undefined) return undefined;
  if ('landed' in change) {
    await resources.exposeCommit(change.landed);
    return { commit: change.landed, gitDir: mirrorDir, sources: [VIEW] };
  }
  await resources.exposeCommit(base);
  await takeBundle(candidateDir, change.bundled, change.file);
  return { commit: change.bundled.commit, gitDir: candidateDir, sources: [VIEW, CANDIDATE] };
}

/** Puts what the agent changed into a workspace after setup, as a change of the base that is not committed. */
async function applyChange(
  context: SandboxContext,
  { volume }: Workspace,
  { base, after }: { base: string; after: Checkout },
): Promise<void> {
  const helping = startHelper(context, {
    phase: 'debug',
    volume,
    readOnly: false,
    repositories: true,
    workdir: WORKSPACE,
  });
  const restorer = openRestorer(context, volume, after);
  await restorer.restore();
  context.worker.inBackground(restorer.remove());
  const output = { stdout: discardSink(), stderr: discardSink(), outputBytes: 1_000_000 };
  const { exitCode } = await runInHelper(context, await helping, { script: `git reset -q ${base}`, ...output });
  context.signal.throwIfAborted();
  if (exitCode !== 0) throw new HaloError('GIT_FAILED', 'The change of the agent could not be applied to its base.');
}

/** A person may want to see why a setup command failed: the others do not run then. */
async function runSetup(context: SandboxContext, workspace: Workspace, tell: DebugRequest['tell']): Promise<void> {
  let hasFailed = false;
  for (const { command } of setupCommands(context.config)) {
    const started = await workspace.takeNext();
    if (hasFailed) {
      await started.egress?.channel.close();
      context.worker.inBackground(started.sandbox.remove());
      continue;
    }
    const { exit, tail } = await runStep(context, started, { command, log: discardSink(), phase: 'baseline' });
    if (exit.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The preparation was stopped.');
    hasFailed = exit.exitCode !== 0;
    await tell({ type: 'setup', command, exitCode: exit.exitCode, tail });
  }
}

async function runCommand(
  { config, worker, signal }: SandboxContext,
  { sandbox, forwards }: StartedStep,
  { command, stdout, stderr }: DebugCommand,
): Promise<DebugEnd> {
  const { wallMs, idleMs, outputBytes } = config.limits;
  const exit = await sandbox.run({
    script: wrapWithForwarder(forwards, command),
    stdout: maskingSink(worker.masker, stdout),
    stderr: maskingSink(worker.masker, stderr),
    ...{ wallMs, idleMs, outputBytes, signal },
  });
  return { exitCode: exit.exitCode, ...stoppedBy(exit, config, 'the command') };
}

/** Ends with its stdin, and with it the sandbox: also when halo is killed. */
const WAITS = 'read -r _';

const SHELL = 'if command -v bash > /dev/null; then exec bash; fi; exec sh';

async function runShell(
  { config, signal }: SandboxContext,
  { sandbox, forwards }: StartedStep,
  { terminal }: { terminal: Terminal },
): Promise<DebugEnd> {
  const { wallMs, outputBytes } = config.limits;
  const open = new PassThrough();
  const running = sandbox.run({
    script: wrapWithForwarder(forwards, WAITS),
    stdin: open,
    stdout: discardSink(),
    stderr: discardSink(),
    // Only the terminal prints.
    ...{ wallMs, idleMs: wallMs, outputBytes, signal },
  });
  running.catch(() => open.end()); // observed below
  try {
    await sandbox.runOnTerminal(SHELL, terminal);
  } finally {
    open.end();
  }
  return { exitCode: 0, ...stoppedBy(await running, config, 'the shell') };
}

function stoppedBy(exit: SandboxExit, { limits }: Config, what: string): Pick<DebugEnd, 'stopped'> {
  // Also a command that was killed by signal 9 has an exit code.
  const end = exit.exitCode === undefined ? findExitFailure(exit, { what, limits }, '') : undefined;
  if (end === undefined) return {};
  const { stopReason, summary } = end.outcome;
  return { stopped: { stopReason, summary } };
}
