import { isDeepStrictEqual } from 'node:util';
import { chooseAgent, withChoice } from '../../config/choice/choose-agent.ts';
import type { Config } from '../../config/config.ts';
import { resolveTestsFirst } from '../../core/prd/tests-first-field.ts';
import { planAfterPass } from '../../core/run/plan.ts';
import { CANDIDATE, VIEW } from '../workspace/sandbox-paths.ts';
import { planWorkSteps } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import { findLayer } from '../snapshot/open-layer.ts';
import { onLayer, openRunAttempt, type Attempt, type AttemptRequest } from './open-attempt.ts';
import { countWorkersFor } from '../run/run-ownership.ts';
import type { WorkerContext } from '../worker-context.ts';

/** How long a prepared attempt waits after the one before it has ended, in ms. */
const KEEP_MS = 10_000;

/** An attempt whose first sandbox has started before the attempt has. */
interface Prepared {
  attempt: Attempt;
  workspace: Workspace;
  request: AttemptRequest;
  stop: AbortController;
}

/**
 * Attempts that will probably be next in their runs: while the gates of a story run, the sandbox and the volume of the story
 * after it are prepared. Nothing is checked out yet. One that is not used is removed.
 */
export class PreparedAttempts {
  readonly #worker: WorkerContext;
  readonly #byRun = new Map<string, Promise<Prepared | undefined>>();

  constructor(worker: WorkerContext) {
    this.#worker = worker;
  }

  /**
   * Prepares what follows the attempt of `request`, with the configuration of the run, if it passes with a commit, which is in
   * its scratch repository.
   */
  prepare(attempt: Attempt, request: AttemptRequest, commit: string): void {
    const { runId } = request;
    if (this.#byRun.has(runId)) return;
    const preparing = prepareNext(this.#worker, attempt, { request, commit }).catch((error: unknown) => {
      this.#worker.log.info({ runId, err: error }, 'the next attempt could not be prepared');
      return undefined;
    });
    this.#byRun.set(runId, preparing);
  }

  /** Opens the requested attempt: the prepared one if it is the same. Another one is removed. */
  async open(request: AttemptRequest): Promise<{ attempt: Attempt; prepared: Workspace | undefined }> {
    const { runId, state, hostGitDir, signal, start } = request;
    // Before anything is awaited: what is opened must not expire meanwhile.
    const preparing = this.#byRun.get(runId);
    this.#byRun.delete(runId);
    const found = await preparing;
    this.#worker.preparedEpochs.delete(runId);
    if (found === undefined || found.workspace.hasFailed || !isSame(found.request, request)) {
      if (preparing !== undefined) this.#remove(runId, preparing);
      return { attempt: await openRunAttempt(this.#worker, request), prepared: undefined };
    }
    const { attempt, workspace, stop } = found;
    if (signal.aborted) stop.abort(signal.reason);
    signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
    const inputs = Object.freeze({ ...attempt.inputs, state, hostGitDir, start, startedAt: new Date().toISOString() });
    return { attempt: { ...attempt, inputs, signal }, prepared: workspace };
  }

  /** Removes what was prepared for a run soon, unless it is opened. Call it when the attempt before it has ended. */
  expire(runId: string): void {
    const expected = this.#byRun.get(runId);
    if (expected === undefined) return;
    setTimeout(() => {
      if (this.#byRun.get(runId) === expected) this.drop(runId);
    }, KEEP_MS).unref();
  }

  /** Removes what was prepared for a run. */
  drop(runId: string): void {
    const dropped = this.#byRun.get(runId);
    this.#byRun.delete(runId);
    this.#worker.preparedEpochs.delete(runId);
    if (dropped !== undefined) this.#remove(runId, dropped);
  }

  /** Removes everything. */
  dropAll(): void {
    for (const runId of this.#byRun.keys()) this.drop(runId);
  }

  #remove(runId: string, preparing: Promise<Prepared | undefined>): void {
    const closing = preparing.then(async (found) => {
      // Unless another attempt has been prepared since.
      if (!this.#byRun.has(runId)) this.#worker.preparedEpochs.delete(runId);
      await found?.attempt.resources.close();
    });
    this.#worker.inBackground(closing);
  }
}

async function prepareNext(
  worker: WorkerContext,
  current: Attempt,
  { request, commit }: { request: AttemptRequest; commit: string },
): Promise<Prepared | undefined> {
  const { runId, prd } = request;
  const state = await worker.store.readState(runId);
  const planned = planAfterPass(state, request.story.id);
  const story = prd.stories.find(({ id }) => id === planned?.story.id);
  if (planned === undefined || story === undefined) return undefined;
  const config = withChoice(request.config, chooseAgent(request.config, { story, attempt: planned.attempt }));
  if (!isPlain(config)) return undefined;
  // Of several workers, another one may take the next story.
  if ((await countWorkersFor(worker.home, state)) !== 1) return undefined;
  if (resolveTestsFirst(config.tests.first, story, prd) !== 'off') return undefined;
  const checkout = { commit, gitDir: current.resources.candidateDir, sources: [VIEW, CANDIDATE] };
  const needsLayer = config.setup.length > 0;
  // Setup would run in a workspace of its own.
  if (needsLayer && (await findLayer(current, checkout)) === undefined) return undefined;
  const [epoch, stop] = [state.epoch + 1, new AbortController()];
  worker.preparedEpochs.set(runId, epoch);
  const next = { ...request, config, state, story, number: planned.attempt, epoch, base: commit, signal: stop.signal };
  const attempt = await openRunAttempt(worker, next);
  try {
    // Its commit is only in the scratch repository yet: the engine has what it builds on.
    if (attempt.resources.transport === 'stream') await attempt.resources.exposeCommit(current.inputs.base);
    const onSnapshot = onLayer(attempt, needsLayer ? await findLayer(attempt, checkout) : undefined);
    const workspace = new Workspace(onSnapshot, 'prepared', planWorkSteps(onSnapshot));
    return { attempt, workspace, request: next, stop };
  } catch (error) {
    await attempt.resources.close();
    throw error;
  }
}

/** Whether the next story begins when this one has passed, and with nothing but its base commit. */
function isPlain({ approval, agentOptions }: Config): boolean {
  return approval.mode !== 'story' && agentOptions.sessionMs === undefined;
}

/** Whether the attempt was prepared from the same inputs: a user may have changed the PRD since, or another story may have landed. */
function isSame(prepared: AttemptRequest, request: AttemptRequest): boolean {
  const { story, prd, number, epoch, base, config, location } = request;
  return (
    isDeepStrictEqual([prepared.story, prepared.prd], [story, prd]) &&
    prepared.number === number &&
    prepared.epoch === epoch &&
    prepared.base === base &&
    location === undefined &&
    JSON.stringify(prepared.config) === JSON.stringify(config)
  );
}
