import { chosenVersion } from '../../core/agent-program.ts';
import { readVersion } from '../attempt/agent-version.ts';
import { mountVersion } from '../workspace/agent-mount.ts';
import type { BuildDescription } from '../../agents/adapter.ts';
import { agentAdapter } from '../../agents/registry.ts';
import { chooseAgent, withChoice } from '../../config/choice/choose-agent.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isAttemptDue, planStory } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { assertWritable } from '../../git/land/land-commit.ts';
import { repackMirror } from '../../git/mirror/mirror-upkeep.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { JobRef } from '../../queue/job.ts';
import type { EnqueueRequest } from '../../queue/queue.ts';
import { runOneOffSandbox } from '../../sandbox/one-off-sandbox.ts';
import { AGENT_HOME } from '../../sandbox/sandbox.ts';
import { IssueReportFiles } from '../../store/forge-files.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { assertCurrent, type FencedAttempt } from '../attempt/attempt-journal.ts';
import type { AttemptRequest } from '../attempt/open-attempt.ts';
import type { PreparedAttempts } from '../attempt/prepared-attempts.ts';
import { runAttempt } from '../attempt/run-attempt.ts';
import { chooseModel } from '../network/model-pauses.ts';
import { hostGitDirOf } from '../repository/host-repository.ts';
import type { WorkerContext } from '../worker-context.ts';
import { endRun, landEnded, planEnd } from './end-run.ts';
import { guardAttempt } from './infrastructure-failure.ts';
import { ignore } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { markPrdProgress } from './mark-prd-progress.ts';
import { nextJobs } from './next-jobs.ts';
import { assertHasSettings, readRun, type RunInputs } from './read-run.ts';
import { isBlockedByBreaker } from './shared-breakers.ts';
import { readImages, startAttempt } from './start-attempt.ts';

/** What handles the jobs of a worker. */
export interface RunnerContext {
  worker: WorkerContext;
  /** Attempts that are prepared before they begin. */
  ahead: PreparedAttempts;
}

/**
 * Handles one job of a run: runs the attempt if the journal allows it now, or ends the run. Returns the jobs that follow.
 * Throws if the attempt was taken from this worker, or if the journal cannot be read or written.
 */
export async function advanceRun(
  context: RunnerContext,
  { runId, ordinal, attempt, queuedMs }: JobRef & { queuedMs?: number | undefined },
  signal: AbortSignal,
): Promise<EnqueueRequest[]> {
  const { worker } = context;
  const state = await worker.store.readState(runId);
  if (isPaused(state)) return [];
  const run = await readRun(worker, runId);
  if (state.status === 'ended') {
    await landEnded(worker, run);
    return [];
  }
  assertHasSettings(runId, run.config);
  const planned = planStory(state, ordinal);
  // A job may outlive its attempt, for example if a person retried the story while it waited.
  if (planned?.attempt !== attempt) return continueOrEnd(context, run);
  // A job may come early, for example after the queue was rebuilt from the journals.
  if (!isAttemptDue(planned, worker.now())) return continueOrEnd(context, run);
  const { id: story, epoch } = planned.story;
  const guarded = { ...run, repo: state.repo, attemptRef: { story, attempt: planned.attempt }, epoch, signal };
  const fatal = await guardAttempt(worker, guarded, async (begun) => {
    // Before the attempt, so that no report about it is missed.
    if (state.issues !== undefined) await new IssueReportFiles(worker.home).add(runId);
    if (state.status === 'queued') await startRun(worker, run);
    const ofStory = run.prd.stories.find(({ id }) => id === story);
    const choice = ofStory && chooseAgent(run.config, { story: ofStory, attempt });
    const config = withChoice(run.config, choice);
    const chosen = await chooseModel(worker, { state, planned, config });
    if (chosen === undefined || (await isBlockedByBreaker(worker, { state, planned, config: chosen.config }))) return;
    if (await worker.isWithdrawn({ state, planned, prd: run.prd })) return;
    const hostGitDir = await hostGitDirOf(worker.home, state.repo);
    if (!state.dry) await assertWritable(hostGitDir);
    const { fallback, ...withModel } = { ...run, ...chosen };
    const started = await startAttempt(worker, withModel, {
      ...{ ordinal, hostGitDir, queuedMs },
      start: defined({ choice, fallback }),
    });
    if (started === undefined) return;
    begun(started.epoch);
    await markPrdProgress(worker, run);
    await attemptUntilStopped(context, { ...withModel, ...started, hostGitDir, signal }, run.config);
  });
  worker.inBackground(repackMirror(mirrorPath(worker.home, state.repo.mirror)));
  if (fatal === undefined) return continueOrEnd(context, run, { story, engine: worker.engineName });
  await endRun(worker, run, () => fatal);
  return [];
}

/** Whether the run is paused and has something left to do. */
function isPaused(state: RunState): boolean {
  return state.paused !== undefined && planEnd(state) === undefined;
}

/** Runs the attempt until it ends or a command in the journal stops it. */
async function attemptUntilStopped(
  { worker, ahead }: RunnerContext,
  request: AttemptRequest,
  ofRun: Config,
): Promise<void> {
  const { runId, story, epoch } = request;
  const control = watchControl(worker.store, runId, { story: story.id, epoch });
  const engine = worker.engineLoss.signal;
  try {
    const signal = AbortSignal.any([request.signal, control.signal, engine]);
    const run = async () => {
      const { attempt, prepared } = await ahead.open({ ...request, signal });
      await runAttempt(attempt, {
        prepared,
        onCandidate: (commit) => ahead.prepare(attempt, { ...request, config: ofRun }, commit),
      });
    };
    await unlessAborted(run(), { signal: engine, rest: (work) => worker.inBackground(work.catch(ignore)) });
  } catch (error) {
    if (engine.aborted && !request.signal.aborted) throw engine.reason;
    const stopped = control.signal.aborted || (error instanceof HaloError && error.code === 'RUN_ABORTED');
    if (!stopped || request.signal.aborted) throw error;
  } finally {
    control.stop();
    ahead.expire(runId);
  }
}

/**
 * Resolves like `work`. When `signal` aborts, throws its reason without waiting for `work`, which waits for calls that an
 * engine does not answer, and calls `rest` with it.
 */
async function unlessAborted<T>(
  work: Promise<T>,
  { signal, rest }: { signal: AbortSignal; rest: (work: Promise<T>) => void },
): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const leave = () => {
      rest(work);
      reject(signal.reason as Error);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { signal: done.signal });
  });
  return Promise.race([work, aborted]).finally(() => done.abort());
}

async function startRun(worker: WorkerContext, { runId, config }: RunInputs): Promise<void> {
  const [channel, images] = await Promise.all([worker.channel(config), readImages(worker, config)]);
  const isFirst = await worker.store.transact(runId, ({ status }) => {
    const isFirst = status === 'queued';
    return { entries: isFirst ? [{ type: 'run.started', channel, images }] : [], result: isFirst };
  });
  if (isFirst) await recordAgentInfo(worker, runId, config);
}

async function continueOrEnd(
  { worker, ahead }: RunnerContext,
  run: RunInputs,
  last?: { story: string; engine: string },
): Promise<EnqueueRequest[]> {
  const state = await worker.store.readState(run.runId);
  if (planEnd(state) !== undefined) {
    ahead.drop(run.runId);
    await endRun(worker, run, planEnd);
    return [];
  }
  await markPrdProgress(worker, run);
  return state.status === 'ended' ? [] : nextJobs(state, worker.now(), last);
}

interface ControlWatch {
  /** Aborts with RUN_ABORTED when the journal says that the attempt must stop. */
  signal: AbortSignal;
  stop(): void;
}

/**
 * Watches the journal of a run while an attempt runs, because any process with access to the run directory may pause or
 * cancel it. Needs no Redis. An unreadable journal stops nothing; landing checks it again.
 */
function watchControl(store: Pick<JournalStore, 'followState'>, runId: string, attempt: FencedAttempt): ControlWatch {
  const stop = new AbortController();
  const control = new AbortController();
  const follow = async () => {
    for await (const state of store.followState(runId, stop.signal)) {
      const reason = reasonToStop(state, attempt);
      if (reason !== undefined) return control.abort(reason);
    }
  };
  follow().catch(() => undefined);
  return { signal: control.signal, stop: () => stop.abort() };
}

function reasonToStop(state: RunState, attempt: FencedAttempt): HaloError | undefined {
  try {
    assertCurrent(state, attempt);
  } catch (error) {
    if (error instanceof HaloError) return error;
    throw error;
  }
  if (state.paused?.now !== true) return undefined;
  return new HaloError('RUN_ABORTED', `Run ${state.runId} was paused by ${state.paused.by}.`);
}

/** More than enough for a help page. */
const MAX_BYTES = 128 * 1024;

/**
 * Records the agent's version in run.json and, in the background, the features that its program reports.
 */
async function recordAgentInfo(worker: WorkerContext, runId: string, config: Config): Promise<void> {
  const { agent: name } = config;
  const { describeBuild } = agentAdapter(name);
  const version = await readVersion({ worker, config });
  if (version === undefined) return;
  await worker.store.amend(runId, { agent: { name, version } });
  if (describeBuild === undefined) return;
  const recording = runProbe(worker, describeBuild, config)
    .then((output) => worker.store.amend(runId, { agent: { name, version, ...describeBuild.read(output) } }))
    .catch((error: unknown) => worker.log.warn({ runId, err: error }, 'agent features could not be read'));
  worker.inBackground(recording);
}

/** Runs a script in a sandbox like the agent's, with an empty workspace and no network. */
async function runProbe(worker: WorkerContext, { script }: BuildDescription, config: Config): Promise<string> {
  const { runtime } = await worker.checkIsolation(config);
  const { text } = await runOneOffSandbox(worker.engine, {
    purpose: 'agent',
    script: script(chosenVersion(config.agentVersions, config.agent)),
    image: config.image,
    mounts: mountVersion(config),
    env: { HOME: AGENT_HOME },
    limits: { cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 64 },
    runtime,
    outputBytes: MAX_BYTES,
  });
  return text;
}
