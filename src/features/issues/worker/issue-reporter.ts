import { randomBytes } from 'node:crypto';
import type { Config } from '../../../config/config.ts';
import type { Env } from '../../../config/environment/host.ts';
import { isDue } from '../../../core/due.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { issueNumber, planReport, type IssueReport } from '../core/issue-report.ts';
import type { IssueStatus, PendingReports } from '../../../core/issues/issue-source.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { ForgeLimited, waitAfter } from '../../../forge/forge-client.ts';
import type { Forge } from '../../../forge/forge.ts';
import { doubledDelay, ignore } from '../../../lib/async.ts';
import { failpoint } from '../../../lib/failpoint.ts';
import type { StoryQueue } from '../../../queue/queue.ts';
import { IssueReportFiles, type SentReports } from '../../../store/forge-files.ts';
import { liveOwnerOf } from '../../../worker/run/run-ownership.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import {
  openIssueSource,
  readIssueSettings,
  WORKER_PATIENCE,
  type ForgeContext,
} from '../../../worker/network/forges.ts';

const EVERY_MS = 5_000;
const LEASE = 'issue-reporter';
const LEASE_MS = 20_000;
/** After a failure, doubled up to the maximum. */
const MIN_BACKOFF_MS = 15_000;
const MAX_BACKOFF_MS = 30 * 60_000;
/** How often the default branch is searched for the commits of passed stories. */
const CLOSE_EVERY_MS = 5 * 60_000;
const MAX_WHY = 500;
/** After the end of a run, nothing is reported any more, for example to issues that fail. */
const REPORT_FOR_MS = 14 * 86_400_000;

type IssueReporterContext = Pick<WorkerContext, 'home' | 'store' | 'log' | 'now'> & ForgeContext;

/** When a run is looked at again, and the size of its journal then. */
interface Seen {
  bytes: number;
  failures: number;
  notBefore: number;
}

/**
 * Reports the progress of stories to their issues: a label for the status, a comment for the result, and if
 * `issues.close` is set, the issue is closed once its commit is on the default branch. What to report follows from the
 * journals, so nothing is lost. Checks for an existing comment before posting. An unavailable forge delays only reports.
 * One worker reports at a time. Handles runs without an owner, or those of `owner`.
 */
export class IssueReporter {
  readonly #context: IssueReporterContext;
  readonly #queue: Pick<StoryQueue, 'lease' | 'releaseLease'>;
  readonly #owner: string | undefined;
  readonly #files: IssueReportFiles;
  readonly #id = randomBytes(8).toString('hex');
  readonly #seen = new Map<string, Seen>();
  readonly #timer: NodeJS.Timeout;
  #passing: Promise<void> = Promise.resolve();
  #isBusy = false;
  /** When an open run had changed last, before the last pass. */
  #changedAt = -1;
  /** When a report is due although no run changes. */
  #dueAt = 0;

  constructor(
    context: IssueReporterContext,
    queue: Pick<StoryQueue, 'lease' | 'releaseLease'>,
    owner: string | undefined,
  ) {
    this.#context = context;
    this.#queue = queue;
    this.#owner = owner;
    this.#files = new IssueReportFiles(context.home);
    this.#timer = setInterval(() => {
      if (!this.#isBusy) this.#passing = this.#pass();
      // Rate limits may make a pass longer than the lease.
      else void this.#holdsLease().catch(ignore);
    }, EVERY_MS).unref();
  }

  /** Reports what is known, and nothing afterwards. */
  async close(): Promise<void> {
    await this.#passing;
    await this.#pass();
    clearInterval(this.#timer);
    if (this.#owner === undefined) await this.#queue.releaseLease(LEASE, this.#id).catch(ignore);
  }

  async #pass(): Promise<void> {
    const { log, now, store } = this.#context;
    this.#isBusy = true;
    try {
      if (!(await this.#holdsLease())) return;
      const changedAt = await store.openRunsChangedAt();
      if (changedAt === this.#changedAt && !isDue(this.#dueAt, { now: now(), longestMs: MAX_BACKOFF_MS })) return;
      const runIds = await this.#files.runIds();
      const settings = runIds.length === 0 ? undefined : await readIssueSettings(this.#context);
      if (settings !== undefined) for (const runId of runIds) await this.#reportRun(runId, settings);
      this.#dueAt = Math.min(...runIds.map((runId) => this.#seen.get(runId)?.notBefore ?? now()));
      this.#changedAt = changedAt;
    } catch (error) {
      log.warn({ err: error }, 'issues cannot be updated');
    } finally {
      this.#isBusy = false;
    }
  }

  /** Takes or renews the lease; a process that owns its runs needs none. */
  async #holdsLease(): Promise<boolean> {
    return this.#owner !== undefined || this.#queue.lease(LEASE, this.#id, LEASE_MS);
  }

  async #reportRun(runId: string, settings: Config['issues']): Promise<void> {
    const { store, home, log, now } = this.#context;
    const bytes = await store.journalBytes(runId);
    const before = this.#seen.get(runId);
    const isWaiting = before !== undefined && !isDue(before.notBefore, { now: now(), longestMs: MAX_BACKOFF_MS });
    if (isWaiting && (before.bytes === bytes || before.failures > 0)) return;
    try {
      const state = await store.readState(runId);
      if ((await liveOwnerOf(home, state)) !== this.#owner) return;
      const isDone = !settings.report || (await this.#reportStories(state, settings));
      if (isDone && state.status === 'ended') await this.#removeUnlessRetried(state);
      else if (before?.failures !== 0) await this.#noteFailure(runId, undefined);
      this.#seen.set(runId, { bytes, failures: 0, notBefore: now() + CLOSE_EVERY_MS });
    } catch (error) {
      const failures = (before?.failures ?? 0) + 1;
      const leastMs = doubledDelay(failures - 1, MIN_BACKOFF_MS, MAX_BACKOFF_MS);
      const delayMs = waitAfter(error, { leastMs, mostMs: MAX_BACKOFF_MS });
      this.#seen.set(runId, { bytes, failures, notBefore: now() + delayMs });
      await this.#noteFailure(runId, { error, retryAt: new Date(now() + delayMs).toISOString() }).catch(ignore);
      log.warn({ runId, err: error, retryInMs: delayMs }, 'issues of a run cannot be updated');
    }
  }

  /** A run that was retried since it was read has new reports; the worker that started it may have found the file in place. */
  async #removeUnlessRetried({ runId, endedAt }: RunState): Promise<void> {
    await this.#files.remove(runId);
    const now = await this.#context.store.readState(runId);
    if (now.status !== 'ended' || now.endedAt !== endedAt) await this.#files.add(runId);
  }

  /** Records for users why reports of a run wait, or that they do not any more. */
  async #noteFailure(runId: string, failed: { error: unknown; retryAt: string } | undefined): Promise<void> {
    const before = await this.#files.readFailure(runId);
    if (failed === undefined && before === undefined) return;
    const why = this.#context.masker.text(safeLine(toHaloError(failed?.error).message, MAX_WHY));
    const failure = failed && { why, retryAt: failed.retryAt };
    await this.#files.write(runId, await this.#files.read(runId), failure);
  }

  /** Returns whether nothing is left to report, as far as the run has come. */
  async #reportStories(state: RunState, { close, labels }: Config['issues']): Promise<boolean> {
    const { issues, runId } = state;
    // A dry run says nothing about the issue.
    if (issues === undefined || state.dry) return true;
    const forge = await openIssueSource(this.#context, issues, WORKER_PATIENCE);
    const sent = await this.#files.read(runId);
    const isOver = this.#context.now() - Date.parse(state.endedAt ?? '') > REPORT_FOR_MS;
    let isDone = true;
    const errors: unknown[] = [];
    for (const story of state.stories) {
      const { id, commit } = story;
      try {
        const planned = planReport(state, story, { sent: sent[id] ?? {}, label: issues.label, labels });
        if (planned !== undefined) isDone = (await this.#send(forge, planned, { state, story, sent })) && isDone;
        const isOpen = sent[id]?.closed === undefined && sent[id]?.gone === undefined;
        if (close && isOpen && story.progress === 'passed' && commit !== undefined)
          isDone = (await this.#closeIssue(forge, { runId, story, commit, sent })) && isDone;
      } catch (error) {
        if (error instanceof ForgeLimited) throw error;
        // One issue that fails, for example because it was moved, must not keep the others waiting.
        errors.push(error);
      }
    }
    if (errors.length > 0 && !isOver) throw errors[0];
    return isDone || isOver;
  }

  /** Returns false if another worker reports now, because this one was suspended. */
  async #send(
    forge: Forge,
    { number, status, add, remove, marker, comment }: IssueReport,
    { state, story, sent }: { state: RunState; story: StoryState; sent: SentReports },
  ): Promise<boolean> {
    const { runId, createdAt } = state;
    const record = async (change: SentReports[string]) => {
      sent[story.id] = { ...sent[story.id], ...change };
      await this.#files.write(runId, sent);
      return true;
    };
    const before = sent[story.id];
    // Nothing is reported to another project to which an issue was moved.
    if ((await forge.findIssue(number)) === undefined) return record({ gone: true });
    if (!(await this.#holdsLease())) return false;
    await failpoint('report.before');
    if (add !== undefined) await forge.addLabel(number, add);
    await failpoint('report.labelled');
    if (comment !== undefined) {
      // An earlier process may have posted it without learning so.
      const isPosting = before?.posting === marker;
      const isUnsure = before === undefined || isPosting;
      // If others wrote too many comments to find out, one that may be there is not repeated.
      const isPosted = isUnsure && ((await forge.hasComment(number, marker, createdAt)) ?? isPosting);
      if (!isPosted) {
        await record({ posting: marker });
        await failpoint('report.posting');
        await forge.comment(number, comment);
        await failpoint('report.posted');
      }
    }
    for (const label of remove) await forge.removeLabel(number, label);
    await failpoint('report.shown');
    await record({ status });
    await this.#journal(runId, story, status);
    await failpoint('report.recorded');
    return true;
  }

  async #closeIssue(
    forge: Forge,
    { runId, story, commit, sent }: { runId: string; story: StoryState; commit: string; sent: SentReports },
  ): Promise<boolean> {
    const number = issueNumber(story.id);
    if (number === undefined || !(await forge.hasLanded(commit))) return false;
    const isGone = (await forge.findIssue(number)) === undefined;
    if (!isGone) await forge.closeIssue(number);
    await failpoint('report.closed');
    sent[story.id] = { ...sent[story.id], ...(isGone ? { gone: true } : { closed: true }) };
    await this.#files.write(runId, sent);
    if (!isGone) await this.#journal(runId, story, 'closed');
    return true;
  }

  #journal(runId: string, { id: story, attempts: attempt }: StoryState, status: IssueStatus | 'closed') {
    return this.#context.store.append(runId, [{ type: 'issue.reported', story, attempt, status }]);
  }
}

/** Undefined if nothing waits, or if `issues.report` is not set. Throws CONFIG_INVALID. */
export async function findPendingReports(
  { home, env }: { home: string; env: Env },
  state: RunState,
): Promise<PendingReports | undefined> {
  const files = new IssueReportFiles(home);
  if (state.issues === undefined || state.dry || !(await files.has(state.runId))) return undefined;
  const { report, labels } = await readIssueSettings({ home, env });
  if (!report) return undefined;
  const sent = await files.read(state.runId);
  const { label } = state.issues;
  const isPending = (story: RunState['stories'][number]) =>
    planReport(state, story, { sent: sent[story.id] ?? {}, label, labels }) !== undefined;
  const stories = state.stories.filter(isPending).map(({ id }) => id);
  const failure = await files.readFailure(state.runId);
  return stories.length === 0 && failure === undefined ? undefined : { stories, ...failure };
}
