import { applyDefaults } from '../../../config/apply-defaults.ts';
import { isDue } from '../../../core/due.ts';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import type { PullFacts } from '../core/plan-pull.ts';
import { openPulls } from '../core/open-pulls.ts';
import type { RequestedPull, RunPull } from '../../../core/pulls/pull-state.ts';
import { secretsToConfirm, type Confirmation } from '../../../core/review/flags.ts';
import { assertAllowed, canOpenPull, isApproved } from '../../../core/run/actions.ts';
import type { RunState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { waitAfter } from '../../../forge/forge-client.ts';
import { doubledDelay, withTimeout } from '../../../lib/async.ts';
import { ofIntactRun } from '../../../store/disk-errors.ts';
import { PullFiles } from '../../../store/forge-files.ts';
import type { JournalStore } from '../../../store/journal-store.ts';
import type { FedEvents } from '../../../store/journal/journal-feed.ts';
import type { FeedConsumer } from '../../../worker/feed/feed-reader.ts';
import type { ForgeContext } from '../../../worker/network/forges.ts';
import { readProof } from '../../../worker/proof/proof-files.ts';
import { findContinuedRuns } from '../../../worker/run/land-run.ts';
import { lastPrd } from '../../../worker/run/read-run.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { assertPullTarget, PullForges } from './open-pull-target.ts';
import { assertPublishable, sendPulls } from './send-pulls.ts';

type PullRequesterContext = Pick<WorkerContext, 'store' | 'log' | 'now'> & ForgeContext;

/** After a failure, doubled up to the maximum. */
const MIN_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 30 * 60_000;
const CLOSE_MS = 2_000;
const MAX_WHY = 500;
/** Runs of which halo remembers what was sent: of others, everything is sent again after a change. */
const MAX_REMEMBERED = 200;
/** Events that change what a pull request shows. */
const SHOWN: readonly JournalEvent['type'][] = [
  'story.ended',
  'feedback.given',
  'story.approved',
  'story.cancelled',
  'run.replanned',
  'run.retried',
  'run.ended',
  'pull.closed',
  'pull.requested',
];

/**
 * Keeps the pull requests of runs with `land.mode = "pr"` as their journals say: pushes the branch of the run and the
 * proofs of its commits, opens a draft when the first story has passed, and marks it as ready when the run has ended. What
 * to send follows from the journal. After kill -9 at any point, the pull request is looked for before one is opened.
 */
export class PullRequester implements FeedConsumer {
  readonly #context: PullRequesterContext;
  readonly #files: PullFiles;
  readonly #forges: PullForges;
  /** What was sent about runs that have not ended, or whose pull requests are open; the latest last. */
  readonly #sent = new Map<string, Map<string, string>>();
  readonly #failed = new Map<string, { times: number; retryAt: number }>();
  #sending: Promise<void> | undefined;
  #isClosing = false;

  constructor(context: PullRequesterContext) {
    this.#context = context;
    this.#files = new PullFiles(context.home);
    this.#forges = new PullForges(context);
  }

  async take({ runId, events, state }: FedEvents): Promise<void> {
    if (state.tip === state.repo.base || state.dry || state.scratch) return;
    const last = events.findLast(({ type }) => SHOWN.includes(type));
    if (last === undefined || !(await this.#isWanted(state))) return;
    // A user expects an answer now, and the forge can be reached.
    if (events.some(({ type }) => type === 'pull.requested' || type === 'pull.closed')) this.#failed.delete(runId);
    await this.#files.note(runId, last.seq);
  }

  flush(hurry: boolean): void {
    this.#sending ??= this.#sendAll(hurry)
      .catch((error: unknown) => this.#context.log.warn({ err: error }, 'pull requests cannot be updated'))
      .finally(() => (this.#sending = undefined));
  }

  async settle(): Promise<void> {
    await this.#sending;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    // A forge that hangs must not prevent the end of the worker: another one looks for what this one was sending.
    this.#forges.close();
    await withTimeout(CLOSE_MS, this.settle());
  }

  async #isWanted({ runId, pullRequested }: RunState): Promise<boolean> {
    if (pullRequested !== undefined) return true;
    // A run that was removed meanwhile, or is damaged, must not keep the events of others waiting.
    const record = await ofIntactRun(this.#context.store.readRecord(runId));
    return record !== undefined && applyDefaults(record.config).land.mode === 'pr';
  }

  async #sendAll(hurry: boolean): Promise<void> {
    for (const runId of await this.#files.runIds()) {
      const failed = this.#failed.get(runId);
      const now = this.#context.now();
      const isPaused = !hurry && failed !== undefined && !isDue(failed.retryAt, { now, longestMs: MAX_BACKOFF_MS });
      if (this.#isClosing || isPaused) continue;
      try {
        await this.#send(runId);
        this.#failed.delete(runId);
      } catch (error) {
        await this.#noteFailure(runId, error);
      }
    }
  }

  async #noteFailure(runId: string, error: unknown): Promise<void> {
    const { log, now, masker } = this.#context;
    if (toHaloError(error).code === 'RUN_NOT_FOUND') return this.#files.remove(runId);
    const times = (this.#failed.get(runId)?.times ?? 0) + 1;
    const leastMs = doubledDelay(times - 1, MIN_BACKOFF_MS, MAX_BACKOFF_MS);
    const retryAt = now() + waitAfter(error, { leastMs, mostMs: MAX_BACKOFF_MS });
    this.#failed.set(runId, { times, retryAt });
    const { code, message, hint } = toHaloError(error);
    const isForPerson = code === 'UNCONFIRMED';
    const why = masker.text(safeLine(isForPerson ? `${message} ${hint ?? ''}` : message, MAX_WHY));
    log.warn({ runId, why }, 'the pull request of a run cannot be updated');
    const failure = { why, ...(!isForPerson && { retryAt: new Date(retryAt).toISOString() }) };
    await this.#files.write(runId, { ...(await this.#files.read(runId)), failure });
  }

  async #send(runId: string): Promise<void> {
    const { store } = this.#context;
    // Before the journal: a note that is added from now on stays, and is sent with the next pass.
    const notes = await this.#files.notes(runId);
    const events = await store.readWithoutActivities(runId);
    // Afterwards, so that it has the findings of every commit of these events.
    const state = await store.readState(runId);
    const { config } = await store.readRecord(runId);
    const mode = applyDefaults(config).land.pullRequests;
    const sent = this.#sentAbout(runId);
    const continued = (await findContinuedRuns(store, this.#context.home, state)).map((other) => other.state);
    // What a person has landed elsewhere needs no pull request, for which its possible secrets would be published.
    if (state.landed !== undefined && secretsToConfirm(state, continued).length > 0)
      return this.#files.done(runId, notes);
    const shown = { state, continued, events, mode, facts: await this.#readFacts(state, events) };
    await sendPulls(this.#context, shown, await this.#forges.openTarget(state), sent);
    const now = await store.readState(runId);
    if (now.status === 'ended' && openPulls(now).length === 0) this.#sent.delete(runId);
    await this.#files.done(runId, notes);
  }

  #sentAbout(runId: string): Map<string, string> {
    const sent = this.#sent.get(runId) ?? new Map<string, string>();
    this.#sent.delete(runId);
    this.#sent.set(runId, sent);
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined && this.#sent.size > MAX_REMEMBERED) this.#sent.delete(oldest);
    return sent;
  }

  async #readFacts({ runId, stories }: RunState, events: readonly JournalEvent[]): Promise<PullFacts> {
    const { store } = this.#context;
    const proofs = new Map<string, NonNullable<Awaited<ReturnType<typeof readProof>>>>();
    for (const { id, key, attempts, commit } of stories) {
      if (commit === undefined) continue;
      const proof = await readProof(store, { runId, storyKey: key, attempt: attempts }, commit);
      if (proof !== undefined) proofs.set(id, proof);
    }
    return {
      proofs,
      criteria: new Map(lastPrd(events)?.stories.map(({ id, acceptance }) => [id, acceptance])),
      claims: new Map(
        events.flatMap((event) => (event.type === 'criteria.claimed' ? [[event.story, event.criteria] as const] : [])),
      ),
    };
  }
}

/**
 * Requests a pull request for what a run has landed, whatever its `land.mode` is: a worker opens it. Repeated, it is tried
 * again now. Throws LAND_REFUSED with the reason, UNCONFIRMED if its push would publish possible secrets that no person has
 * confirmed, and CONFIG_INVALID if no forge is configured for the repository.
 */
export async function requestPull(
  { store, ...context }: ForgeContext & { store: JournalStore },
  { runId, by, confirmation }: { runId: string; by: string; confirmation?: Confirmation },
): Promise<RequestedPull> {
  const before = await store.readState(runId);
  if (before.pull === undefined) {
    await assertPullTarget(context, before);
    assertAllowed(canOpenPull(before));
  }
  const { land } = applyDefaults((await store.readRecord(runId)).config);
  // The pull request has their commits.
  const continued = (await findContinuedRuns(store, context.home, before)).map(({ state }) => state);
  const result = await store.transact<RequestedPull>(runId, (state) => {
    const secrets = secretsToConfirm(state, continued);
    // With one for each story, the next one is opened although people have ended those before.
    const hasNext = land.pullRequests === 'story' && secrets.length > 0;
    const shown = hasNext && state.pull?.ended !== undefined ? undefined : state.pull;
    const pull = shown && requireOpen(shown);
    if (pull !== undefined && secrets.length === 0) return { entries: [], result: { runId, changed: false, pull } };
    assertAllowed(canOpenPull(state));
    for (const other of continued) assertAllowed(isApproved(other, { needsApproval: false, continuedBy: runId }));
    assertPublishable(state, { secrets, continued }, confirmation);
    const confirmed = [...(state.pullRequested?.confirmed ?? []), ...secrets.flatMap(({ commit }) => commit ?? [])];
    return {
      entries: [{ type: 'pull.requested', by, ...(confirmed.length > 0 && { confirmed }) }],
      result: { runId, changed: true, ...(pull && { pull }) },
    };
  });
  // Without the reason of an earlier failure.
  if (result.changed) await new PullFiles(context.home).write(runId, {});
  return result;
}

function requireOpen({ number, url, ended, branch }: RunPull): Pick<RunPull, 'number' | 'url'> {
  if (ended === undefined) return { number, url };
  const isLeft = ended === 'merged' || branch !== undefined;
  const hint = isLeft ? undefined : 'Open it again on the forge: halo updates it after the next change of the run.';
  throw refused(`The pull request #${number} was ${ended} already: ${safeLine(url, 300)}`, hint);
}

function refused(message: string, hint?: string): HaloError {
  return new HaloError('LAND_REFUSED', message, hint === undefined ? {} : { hint });
}
