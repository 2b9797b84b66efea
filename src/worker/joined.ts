import { warnOfSameEngine } from '../features/engines/worker/same-engines.ts';
import { IssueReporter } from '../features/issues/worker/issue-reporter.ts';
import { isIssueWithdrawn } from '../features/issues/worker/withdrawn-issue.ts';
import { Notifier } from '../features/notifications/worker/notifier.ts';
import { PullRequester } from '../features/pulls/worker/pull-requester.ts';
import { PullReviewer } from '../features/pulls/worker/pull-reviewer.ts';
import { pruneDaily } from '../features/retention/worker/prune-daily.ts';
import { REVIEWER } from '../features/review/worker/reviewer.ts';
import { SERVICE_OPENER } from '../features/services/worker/open-services.ts';
import { MetricsRecorder, recordSwept } from '../features/telemetry/worker/metrics-recorder.ts';
import { TraceExporter } from '../features/telemetry/worker/trace-exporter.ts';
import { openLiveInput } from '../features/tell/worker/live-input.ts';
import type { StoryQueue } from '../queue/queue.ts';
import type { OpenLiveInput } from './attempt/live-input.ts';
import { NO_REVIEWING, type Reviewing } from './attempt/reviewing.ts';
import type { FeedConsumer } from './feed/feed-reader.ts';
import type { PlannedStory, WorkerContext } from './worker-context.ts';
import { NO_SERVICES, type ServiceOpener } from './workspace/step-services.ts';

/** What is derived from the events of all runs, in this order. */
export function feedConsumers(context: WorkerContext, queue: StoryQueue): FeedConsumer[] {
  return [
    new MetricsRecorder(context.home),
    new Notifier(context),
    new PullRequester(context),
    new PullReviewer(context, queue),
    new TraceExporter(context),
  ];
}

/** Called with the number of resources of dead workers that a sweep of a HALO_HOME removed. */
export const AFTER_SWEEP: readonly ((home: string, count: number) => Promise<void>)[] = [recordSwept];

/** What a worker checks beside its work when it starts. */
export const ON_START: readonly ((worker: WorkerContext) => Promise<void>)[] = [warnOfSameEngine];

/** What one of the workers does about every minute; each decides whether it is due. */
export const UPKEEP: readonly ((worker: WorkerContext, signal: AbortSignal) => Promise<void>)[] = [pruneDaily];

const OPENERS: readonly ServiceOpener[] = [SERVICE_OPENER];
/** What starts services beside commands. */
export const SERVICES: ServiceOpener = OPENERS[0] ?? NO_SERVICES;

const REVIEWERS: readonly Reviewing[] = [REVIEWER];
/** What reviews changes that passed their gates. */
export const REVIEWING: Reviewing = REVIEWERS[0] ?? NO_REVIEWING;

/** What gives messages to agents while they work; one or none. */
export const LIVE_INPUTS: readonly OpenLiveInput[] = [openLiveInput];

/** What reports about runs beside the feed, from its construction until it is closed. `owner`: only about its runs. */
export function reporters(
  context: WorkerContext,
  queue: StoryQueue,
  owner: string | undefined,
): { close(): Promise<void> }[] {
  return [new IssueReporter(context, queue, owner)];
}

/** Asked before an attempt starts: whether its story is not to be done any more, which they record. */
export const WITHDRAWALS: readonly ((worker: WorkerContext, planned: PlannedStory) => Promise<boolean>)[] = [
  isIssueWithdrawn,
];
