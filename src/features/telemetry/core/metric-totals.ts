import type { Usage } from '../../../core/agent.ts';
import { countedUsage, isMeteredAfter } from '../../../core/journal/counted-usage.ts';
import { attemptName } from '../../../core/journal/fold-failures.ts';
import type { AttemptRef } from '../../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';

/** Sums over all journals. Names are those of the series without the prefix `halo_`; the keys below are values of labels. */
export interface MetricTotals {
  /** By the name of a counter, then by its labels. */
  counters: Partial<Record<CounterName, Record<string, number>>>;
  /** By phase. */
  phases: Record<string, Histogram>;
  /** How long stories were ready before they started, by a `WaitReason`. */
  waits: Record<string, Histogram>;
}

/** Durations in seconds. */
export interface Histogram {
  count: number;
  sum: number;
  /** The number of durations up to each limit of DURATION_BUCKETS. */
  buckets: number[];
}

/** What is known of a run between two events, so that its next ones are counted correctly. */
export interface CountedRun {
  /** The last event that was counted. */
  seq: number;
  /** Running attempts whose responses are counted one by one. */
  metered: string[];
  /** It has ended and no story has started since. */
  ended?: true;
  /** The agent of each running attempt, by story. */
  agents?: Record<string, string>;
  /** What delayed the next attempt at a story, unless that is its first. */
  delays?: Record<string, WaitReason>;
}

/** What a story waited for before it became ready: nothing, a retry, a model, or a circuit breaker. */
type WaitReason = 'new' | 'retry' | 'model' | 'breaker';

/** Every counter with its labels and its help text. */
export const COUNTERS = {
  runs_started_total: { labels: [], help: 'Runs whose first story has started.' },
  runs_ended_total: { labels: ['stop_reason'], help: 'Ends of runs. A run that is continued can end again.' },
  runs_landed_total: { labels: [], help: 'Runs whose result has landed on its branch.' },
  story_attempts_total: { labels: ['verdict', 'stop_reason', 'agent', 'class'], help: 'Ended attempts at stories.' },
  story_landed_total: { labels: [], help: 'Stories whose commit has landed on the branch of the run.' },
  story_retries_total: { labels: ['class'], help: 'Retries, by the class of the failure.' },
  story_disturbed_total: { labels: ['class'], help: 'Attempts that an infrastructure failure interrupted.' },
  story_questions_total: { labels: [], help: 'Questions of agents.' },
  story_approvals_total: { labels: [], help: 'Commits that waited for approval.' },
  agent_launches_total: { labels: ['agent'], help: 'Starts of agents.' },
  gates_total: { labels: ['result'], help: 'Gates that have ended: passed, failed or killed.' },
  orphans_swept_total: { labels: [], help: 'Containers, volumes and folders of dead workers that were removed.' },
  takeovers_total: { labels: [], help: 'Attempts that a worker took over from one that died.' },
  snapshots_total: { labels: ['use'], help: 'Snapshots that attempts used (hit), made or refused.' },
  breakers_opened_total: { labels: [], help: 'Circuit breakers that have opened.' },
  model_requests_total: { labels: ['model'], help: 'Answers of models.' },
  model_pauses_total: { labels: ['why'], help: 'Waits for a model: for its provider, or for a configured rate.' },
  tokens_total: { labels: ['model', 'type'], help: 'Tokens: input, cached input and output.' },
  cost_usd_total: { labels: ['model'], help: 'Cost of models with a known price, in USD.' },
  gateway_requests_total: { labels: ['kind', 'phase', 'outcome'], help: 'Requests of sandboxes to their gateways.' },
} as const satisfies Record<string, { labels: readonly string[]; help: string }>;

export type CounterName = keyof typeof COUNTERS;

/** In seconds. */
export const DURATION_BUCKETS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600] as const;

/** Values of the label `model`: further models count as `other`, since repositories can name any number. */
const MAX_MODELS = 50;
/** The value of a label that does not apply, or is unknown. */
const NONE = '-';

export function noTotals(): MetricTotals {
  return { counters: {}, phases: {}, waits: {} };
}

/** Adds resources that a sweep has removed. Changes the totals. */
export function countSwept(totals: MetricTotals, count: number): void {
  addTo(totals, 'orphans_swept_total', { labels: [], by: count });
}

/** Adds the events of a run that were not counted before, in the order of its journal. Changes both arguments. */
export function countEvents(totals: MetricTotals, run: CountedRun, events: readonly JournalEvent[]): void {
  for (const event of events) {
    if (event.seq <= run.seq) continue;
    run.seq = event.seq;
    countEvent(totals, run, event);
    if ('attempt' in event) countModels(totals, run, event);
  }
}

function countEvent(totals: MetricTotals, run: CountedRun, event: JournalEvent): void {
  const add = (name: CounterName, labels: readonly string[] = [], by = 1) => addTo(totals, name, { labels, by });
  switch (event.type) {
    case 'run.started':
      return add('runs_started_total');
    case 'run.ended':
      run.ended = true;
      delete run.agents;
      delete run.delays;
      return add('runs_ended_total', [event.stopReason]);
    case 'run.landed':
      return add('runs_landed_total');
    case 'story.started':
      if (event.workerDied === true) add('takeovers_total');
      if (event.queuedMs !== undefined)
        addDuration(totals.waits, run.delays?.[event.story] ?? 'new', event.queuedMs / 1000);
      return forget(run, event.story);
    case 'story.ended':
      add('story_attempts_total', [
        event.verdict,
        event.stopReason,
        run.agents?.[event.story] ?? NONE,
        event.failure?.class ?? NONE,
      ]);
      if (event.verdict === 'passed' && event.commit !== undefined) add('story_landed_total');
      if (event.held !== undefined) add('story_approvals_total');
      else if (event.verdict === 'needs_human') add('story_questions_total');
      return undefined;
    case 'story.approved':
      return add('story_landed_total');
    case 'story.disturbed':
      return add('story_disturbed_total', [event.class]);
    case 'story.postponed':
      return void (run.delays = { ...run.delays, [event.story]: 'model' });
    case 'breaker.held':
      return void (run.delays = { ...run.delays, [event.story]: 'breaker' });
    case 'retry.scheduled':
      run.delays = { ...run.delays, [event.story]: 'retry' };
      return add('story_retries_total', [event.class]);
    case 'agent.launched':
      run.agents = { ...run.agents, [event.story]: event.agent };
      return add('agent_launches_total', [event.agent]);
    case 'gate.ended':
      return add('gates_total', [event.exitCode === undefined ? 'killed' : event.exitCode === 0 ? 'passed' : 'failed']);
    case 'snapshot.used':
      return add('snapshots_total', [event.made === true ? 'made' : 'hit']);
    case 'snapshot.refused':
      return add('snapshots_total', ['refused']);
    case 'breaker.opened':
      return add('breakers_opened_total');
    case 'breaker.changed':
      return event.status === 'open' ? add('breakers_opened_total') : undefined;
    case 'model.paused':
      return add('model_pauses_total', [event.why]);
    case 'network.asked':
      return add('gateway_requests_total', [event.route, event.phase, event.outcome], event.count);
    case 'phase.ended':
      return addDuration(totals.phases, event.phase, event.ms / 1000);
    default:
      return undefined;
  }
}

/** An attempt starts: what was known of the one before, and of the end of its run, no longer applies. */
function forget(run: CountedRun, story: string): void {
  delete run.ended;
  for (const known of [run.agents, run.delays]) if (known !== undefined) delete known[story];
}

/** Counts what an event says about models. */
function countModels(totals: MetricTotals, run: CountedRun, event: JournalEvent & AttemptRef): void {
  const key = attemptName(event.story, event.attempt);
  const isMetered = run.metered.includes(key);
  const { model = NONE, usage } = countedUsage(event, isMetered) ?? {};
  if (usage !== undefined && (event.type === 'model.used' || usage.requests > 0)) countUsage(totals, model, usage);
  const others = run.metered.filter((each) => each !== key);
  run.metered = isMeteredAfter(event, isMetered) ? [...others, key] : others;
}

function countUsage(totals: MetricTotals, name: string, usage: Usage): void {
  const known = Object.keys(totals.counters.model_requests_total ?? {});
  const isKnown = known.includes(labelKey([name]));
  const model = isKnown || known.length < MAX_MODELS ? name : 'other';
  addTo(totals, 'model_requests_total', { labels: [model], by: usage.requests });
  const tokens = { input: usage.inputTokens, cached: usage.cachedTokens, output: usage.outputTokens };
  for (const [type, by] of Object.entries(tokens)) addTo(totals, 'tokens_total', { labels: [model, type], by });
  if (usage.costUsd !== undefined) addTo(totals, 'cost_usd_total', { labels: [model], by: usage.costUsd });
}

/** The values of the label `model`. */
export function modelLabels(totals: MetricTotals): string[] {
  return Object.keys(totals.counters.model_requests_total ?? {})
    .flatMap(labelsOf)
    .filter((model) => model !== NONE);
}

function addTo(
  totals: MetricTotals,
  name: CounterName,
  { labels, by }: { labels: readonly string[]; by: number },
): void {
  const series = (totals.counters[name] ??= {});
  const key = labelKey(labels);
  series[key] = (series[key] ?? 0) + by;
}

function addDuration(histograms: Record<string, Histogram>, label: string, seconds: number): void {
  const histogram = (histograms[label] ??= { count: 0, sum: 0, buckets: DURATION_BUCKETS.map(() => 0) });
  histogram.count += 1;
  histogram.sum += seconds;
  histogram.buckets = DURATION_BUCKETS.map(
    (limit, index) => (histogram.buckets[index] ?? 0) + (seconds <= limit ? 1 : 0),
  );
}

/** The labels of a series as a key of the totals. */
function labelKey(labels: readonly string[]): string {
  return JSON.stringify(labels);
}

/** The values of the labels of such a key. */
export function labelsOf(key: string): string[] {
  return JSON.parse(key) as string[];
}
