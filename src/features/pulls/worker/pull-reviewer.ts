import { applyDefaults } from '../../../config/apply-defaults.ts';
import type { Config } from '../../../config/config.ts';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import { planBranches } from '../core/plan-stack.ts';
import { planChecks, planReviews } from '../core/pull-feedback.ts';
import type { PlannedFeedback, PullReview } from '../../../core/pulls/pull-review.ts';
import type { FeedbackPlan } from '../core/pull-feedback.ts';
import { openPulls, pauseBetweenReadings } from '../core/open-pulls.ts';
import type { RunPull } from '../../../core/pulls/pull-state.ts';
import type { RunState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { PullReviews } from '../../../forge/forge.ts';
import { readChangesOf } from '../../../git/commit/read-commits.ts';
import { mirrorPath } from '../../../git/mirror/mirror.ts';
import { waitAfter } from '../../../forge/forge-client.ts';
import { doubledDelay, withTimeout } from '../../../lib/async.ts';
import { isDue } from '../../../core/due.ts';
import { defined } from '../../../lib/guards.ts';
import type { StoryQueue } from '../../../queue/queue.ts';
import { PullFiles } from '../../../store/forge-files.ts';
import type { FedEvents } from '../../../store/journal/journal-feed.ts';
import { giveFeedback } from '../../../worker/control/give-feedback.ts';
import type { FeedConsumer } from '../../../worker/feed/feed-reader.ts';
import type { ForgeContext } from '../../../worker/network/forges.ts';
import { withIntactMirror } from '../../../worker/repository/with-intact-mirror.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { PullForges } from './open-pull-target.ts';

type PullReviewerContext = Pick<WorkerContext, 'store' | 'log' | 'now'> & ForgeContext;

/** Pull requests at which nothing has happened for so long are read less often. */
const QUIET_MS = 3_600_000;
const MAX_BACKOFF_MS = 30 * 60_000;
const CLOSE_MS = 2_000;
const MAX_WHY = 500;
const MAX_UNUSED = 5;

/** When a pull request is read next. `changedAt`: when something happened last, as far as this worker knows. */
interface Turn {
  at: number;
  /** How long the turn was put off, in ms. */
  waitMs: number;
  failures: number;
  changedAt: number;
}

/**
 * Reads the reviews and checks of open pull requests, and sends the stories that they are about back with them as feedback:
 * as often as `land.feedback_rounds` permits, and not while the pull request has the label `land.stop_label`. The feedback
 * in the journal says what was used before, so that nothing is used twice.
 */
export class PullReviewer implements FeedConsumer {
  readonly #context: PullReviewerContext;
  readonly #queue: Pick<StoryQueue, 'enqueue'>;
  readonly #files: PullFiles;
  readonly #forges: PullForges;
  readonly #turns = new Map<string, Turn>();
  #reading: Promise<void> | undefined;
  #isClosing = false;

  constructor(context: PullReviewerContext, queue: Pick<StoryQueue, 'enqueue'>) {
    this.#context = context;
    this.#queue = queue;
    this.#files = new PullFiles(context.home, 'pull-reviews');
    this.#forges = new PullForges(context);
  }

  async take({ runId, state }: FedEvents): Promise<void> {
    const turn = this.#turns.get(runId);
    if (turn !== undefined) this.#turns.set(runId, { ...turn, changedAt: this.#context.now() });
    if (openPulls(state).length > 0 && !(await this.#files.has(runId))) await this.#files.write(runId, {});
  }

  flush(hurry: boolean): void {
    if (!hurry) void this.read();
  }

  /** Reads those whose turn it is. Never rejects. */
  read(): Promise<void> {
    return (this.#reading ??= this.#readAll()
      .catch((error: unknown) => this.#context.log.warn({ err: error }, 'reviews of pull requests cannot be read'))
      .finally(() => (this.#reading = undefined)));
  }

  async settle(): Promise<void> {
    this.#isClosing = true;
    await this.#reading;
  }

  async close(): Promise<void> {
    // A forge that hangs must not prevent the end of the worker.
    await withTimeout(CLOSE_MS, this.settle());
    this.#forges.close();
  }

  async #readAll(): Promise<void> {
    const runIds = await this.#files.runIds();
    for (const known of this.#turns.keys()) if (!runIds.includes(known)) this.#turns.delete(known);
    for (const runId of runIds) {
      const now = this.#context.now();
      const turn = this.#turns.get(runId) ?? { at: 0, waitMs: 0, failures: 0, changedAt: now };
      if (this.#isClosing) return;
      if (!isDue(turn.at, { now, longestMs: turn.waitMs })) continue;
      this.#turns.set(runId, await this.#readOne(runId, turn));
    }
  }

  async #readOne(runId: string, { failures, changedAt }: Turn): Promise<Turn> {
    const { log, now, masker, store } = this.#context;
    let everyMs = 60_000;
    try {
      const { land } = applyDefaults((await store.readRecord(runId)).config);
      everyMs = land.feedbackIntervalMs;
      const hasGiven = await this.#review(runId, land);
      const isQuiet = now() - changedAt > QUIET_MS;
      const open = openPulls(await store.readState(runId)).length;
      const waitMs = pauseBetweenReadings({ everyMs, open, isQuiet });
      return { at: now() + waitMs, waitMs, failures: 0, changedAt: hasGiven ? now() : changedAt };
    } catch (error) {
      if (toHaloError(error).code === 'RUN_NOT_FOUND') await this.#files.remove(runId);
      else {
        const mostMs = Math.max(everyMs, MAX_BACKOFF_MS);
        const waitMs = waitAfter(error, { leastMs: doubledDelay(failures, everyMs, mostMs), mostMs });
        const at = now() + waitMs;
        const why = masker.text(safeLine(toHaloError(error).message, MAX_WHY));
        log.warn({ runId, why }, 'the pull request of a run cannot be read');
        const failure = { why, retryAt: new Date(at).toISOString() };
        const before = await this.#files.read(runId).catch(() => ({}));
        await this.#files
          .write(runId, { ...before, failure })
          .catch((fault: unknown) => log.warn({ runId, err: fault }, 'the reason cannot be stored'));
        return { at, waitMs, failures: failures + 1, changedAt };
      }
      return { at: 0, waitMs: 0, failures: 0, changedAt };
    }
  }

  /** Returns whether a story was sent back. */
  async #review(runId: string, { feedbackRounds: rounds, stopLabel, pullRequests }: Config['land']): Promise<boolean> {
    const state = await this.#context.store.readState(runId);
    // Of a stack, halo has to know what was merged.
    if (rounds === 0 && pullRequests === 'run') return this.#files.remove(runId).then(() => false);
    const { reviews, project } = await this.#forges.openReviews(state);
    const { open, stopped } = await this.#readPulls(runId, openPulls(state), { reviews, stopLabel });
    if (open.length === 0) return this.#files.remove(runId).then(() => false);
    const branches = planBranches(await this.#context.store.readWithoutActivities(runId), state, pullRequests);
    const given: PlannedFeedback[] = [];
    const unused = stopped.map(({ number }) => `The pull request #${number} has the label ${stopLabel}.`);
    const outsiders: string[] = [];
    for (const { number, branch: name } of rounds === 0 ? [] : open.filter((each) => !stopped.includes(each))) {
      const listed = await reviews.listReviews(number);
      const lastChanges = await this.#readLastChanges(state, listed);
      const branch = branches.find((each) => each.name === name);
      const plan = planReviews(listed, { run: state, rounds, lastChanges, ...defined({ branch }) });
      given.push(...plan.given);
      unused.push(...plan.unused);
      outsiders.push(...plan.outsiders);
    }
    if (given.length === 0 && rounds > 0 && stopped.length === 0) {
      const checks = await this.#planChecks(reviews, { state, rounds });
      given.push(...(checks?.given ?? []));
      unused.push(...(checks?.unused ?? []));
    }
    if (given.length > 0) {
      // A person may have set the label, and then given a review, between the two requests.
      const now = await this.#readPulls(runId, open, { reviews, stopLabel });
      if (now.stopped.some((each) => !stopped.includes(each)) || now.open.length < open.length) return false;
    }
    let sent = 0;
    for (const each of given) {
      if (this.#isClosing) return false;
      const { storyId, text, comments } = each;
      const request = { runId, by: project, openQueue: () => Promise.resolve(this.#queue) };
      try {
        await giveFeedback(this.#context, request, { storyId, text, comments, review: each });
        sent += 1;
      } catch (error) {
        // A person has decided otherwise meanwhile, for example by cancelling or landing the run.
        if (!(error instanceof HaloError) || !['CONTROL_REFUSED', 'USAGE'].includes(error.code)) throw error;
        const what = each.source === 'checks' ? 'The failing checks are' : `The review of ${each.author} is`;
        unused.push(`${what} not used: ${error.message}`);
      }
    }
    // The reasons of people who may push come first: others could fill the list.
    await this.#note(runId, [...unused, ...outsiders]);
    return sent > 0;
  }

  /** Those of `pulls` that are open, and those of them that people have stopped. Records those that are not open any more. */
  async #readPulls(
    runId: string,
    pulls: readonly RunPull[],
    { reviews, stopLabel }: { reviews: PullReviews; stopLabel: string },
  ): Promise<{ open: RunPull[]; stopped: RunPull[] }> {
    const open: RunPull[] = [];
    const stopped: RunPull[] = [];
    for (const each of pulls) {
      const { number } = each;
      const pull = await reviews.readPull(number);
      if (pull === undefined)
        throw new HaloError('FORGE_FAILED', `The forge does not show the pull request #${number}.`, {
          hint: 'Check that the token that `token_env` below [forge] names may read the project.',
        });
      if (pull.state !== 'open') {
        const merged = pull.state === 'merged';
        await this.#context.store.append(runId, [
          { type: 'pull.closed', number, merged, ...defined({ head: pull.head }) },
        ]);
        continue;
      }
      open.push(each);
      if (pull.labels.includes(stopLabel)) stopped.push(each);
    }
    return { open, stopped };
  }

  /** Checks count when the run has ended: until then, the next story changes their result. */
  async #planChecks(
    reviews: PullReviews,
    { state, rounds }: { state: RunState; rounds: number },
  ): Promise<FeedbackPlan | undefined> {
    const newest = openPulls(state).at(-1);
    if (state.status !== 'ended' || newest === undefined) return undefined;
    // The newest commit is perhaps not pushed yet.
    if ((await new PullFiles(this.#context.home).runIds()).includes(state.runId)) return undefined;
    const checks = await reviews.readChecks(state.tip);
    return planChecks(checks, { run: state, rounds, page: newest.url });
  }

  async #readLastChanges({ repo, tip }: RunState, reviews: readonly PullReview[]): Promise<Map<string, string[]>> {
    const { home } = this.#context;
    const gitDir = mirrorPath(home, repo.mirror);
    const paths = new Set(
      reviews.flatMap(({ comments, mayPush }) => (mayPush ? comments.map(({ path }) => path) : [])),
    );
    return withIntactMirror({ home, repo, tip }, async () => {
      const changes = new Map<string, string[]>();
      for (const path of paths)
        if (path !== '') changes.set(path, await readChangesOf(gitDir, { base: repo.base, tip, path }));
      return changes;
    });
  }

  async #note(runId: string, unused: readonly string[]): Promise<false> {
    const notes = [...new Set(unused)].slice(0, MAX_UNUSED).map((why) => safeLine(why, MAX_WHY));
    const before = await this.#files.read(runId);
    if (before.failure === undefined && JSON.stringify(before.unused ?? []) === JSON.stringify(notes)) return false;
    await this.#files.write(runId, notes.length === 0 ? {} : { unused: notes });
    return false;
  }
}
