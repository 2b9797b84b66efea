import { GAUGES } from '../../../api/joined.ts';
import { readHostFile } from '../../../config/host-rules.ts';
import { budgetOf, type BudgetLimit, type Charge } from '../../../core/budget.ts';
import { toExposition, type Gauge } from '../core/exposition.ts';
import { modelLabels, type MetricTotals } from '../core/metric-totals.ts';
import { hasTrait, STORY_PROGRESS } from '../../../core/run/progress.ts';
import type { RunState } from '../../../core/run/state.ts';
import { ignore, withTimeout } from '../../../lib/async.ts';
import { haloVersion } from '../../../lib/version.ts';
import type { FleetUse } from '../../../queue/queue.ts';
import { listWorkers } from '../../../store/process-registry.ts';
import { MetricsFile } from '../store/metrics-file.ts';
import type { OperationContext } from '../../../api/operations/operation.ts';

/** A scrape does not wait longer for Redis. */
const REDIS_MS = 2_000;

/** What is open, with the time of the last change of an open run: scrapes read runs only after a change. */
const known = new WeakMap<object, { changedAt: number; runs: readonly RunState[] }>();

/** The metrics of a server in the text format of Prometheus. Throws DISK_FAILED. */
export async function readMetrics({ host, store, breakers, openQueue }: OperationContext): Promise<string> {
  const [{ totals }, runs, workers, shared, fleet, { day, engines }, joined] = await Promise.all([
    new MetricsFile(host.home).read(),
    openRuns(store),
    listWorkers(host.home),
    breakers.list(),
    readFleetUse(openQueue),
    readRules(host.home),
    Promise.all(GAUGES.map((read) => read(host.home).catch(() => []))),
  ]);
  const open = (kind: string) =>
    shared.filter(({ key, status }) => key.startsWith(`${kind}:`) && status !== 'closed').length;
  return toExposition(totals, [
    { name: 'build_info', help: 'The version of halo.', values: [{ labels: { version: haloVersion() }, value: 1 }] },
    {
      name: 'runs',
      help: 'Runs that have not ended.',
      values: countBy(
        ['queued', 'running', 'paused'],
        runs,
        (run) => (run.paused === undefined ? run.status : 'paused'),
        'state',
      ),
    },
    {
      name: 'stories',
      help: 'Stories of runs that have not ended.',
      values: countBy(
        STORY_PROGRESS.filter((progress) => hasTrait('measured', { progress })),
        runs.flatMap(({ stories }) => stories),
        ({ progress }) => progress,
        'state',
      ),
    },
    {
      name: 'stories_waiting',
      help: 'Stories that wait for a model, a circuit breaker or their next attempt.',
      values: [{ value: runs.flatMap(({ stories }) => stories).filter(({ waiting }) => waiting !== undefined).length }],
    },
    {
      name: 'workers',
      help: 'Running workers: for all runs, or for those of their own process.',
      values: countBy(['any', 'own'], workers, ({ takes }) => takes, 'takes'),
    },
    {
      name: 'redis_up',
      help: 'Whether Redis answers. If not, the slots of workers and the budget of the day are absent.',
      values: [{ value: fleet === undefined ? 0 : 1 }],
    },
    {
      name: 'worker_slots',
      help: 'Stories that running workers can run in parallel, by engine: assigned to a story, or free. A draining worker has no free ones.',
      values: slotsOf(fleet, engines),
    },
    ...remainingBudget(fleet?.today, day),
    {
      name: 'model_paused_seconds',
      help: 'How long open runs may send no request to a model, for its provider or a configured rate.',
      values: pausesOf(runs, totals, Date.now()),
    },
    {
      name: 'breakers_open',
      help: 'Circuit breakers that are not closed.',
      values: [
        ...['repository', 'provider'].map((kind) => ({ labels: { kind }, value: open(kind) })),
        { labels: { kind: 'run' }, value: runs.filter(({ breaker }) => breaker !== undefined).length },
      ],
    },
    ...joined.flat(),
  ]);
}

/** Undefined if Redis does not answer in time: a scrape must not hang. */
async function readFleetUse(openQueue: OperationContext['openQueue']): Promise<FleetUse | undefined> {
  let use: FleetUse | undefined;
  const reading = openQueue()
    .then((queue) => queue.fleetUse())
    .then((read) => void (use = read), ignore);
  await withTimeout(REDIS_MS, reading);
  return use;
}

/** What the home's config.toml says; nothing while it is invalid. */
async function readRules(home: string): Promise<{ day: BudgetLimit; engines: string[] }> {
  try {
    const { config, engines } = await readHostFile(home);
    return { day: budgetOf(config.budget, 'day'), engines: engines.map(({ name }) => name) };
  } catch {
    return { day: {}, engines: [] };
  }
}

/** A configured engine without a worker has none. */
function slotsOf(fleet: FleetUse | undefined, configured: readonly string[]): Gauge['values'] {
  if (fleet === undefined) return [];
  const found = new Set(fleet.slots.map(({ engine }) => engine));
  const none = configured.filter((engine) => !found.has(engine)).map((engine) => ({ engine, busy: 0, free: 0 }));
  return [...fleet.slots, ...none].flatMap(({ engine, busy, free }) => [
    { labels: { engine, state: 'busy' }, value: busy },
    { labels: { engine, state: 'free' }, value: free },
  ]);
}

/** What is neither spent nor reserved of the budget of the day; absent while that is not known. */
function remainingBudget(today: Charge | undefined, { usd, tokens }: BudgetLimit): Gauge[] {
  const rest = (limit: number | undefined, used: number | undefined) =>
    limit === undefined || used === undefined ? [] : [{ labels: { budget: 'day' }, value: limit - used }];
  return [
    {
      name: 'budget_remaining_usd',
      help: 'What is neither spent nor reserved of a budget, in USD, from the first model request of the day (UTC).',
      values: rest(usd, today && today.microUsd / 1e6),
    },
    {
      name: 'budget_remaining_tokens',
      help: 'The same for a budget in tokens.',
      values: rest(tokens, today?.tokens),
    },
  ];
}

/** The longest pause of each model that the counters have, and of all others. */
function pausesOf(runs: readonly RunState[], totals: MetricTotals, now: number): Gauge['values'] {
  const longest = new Map(modelLabels(totals).map((model) => [model, 0]));
  const add = (name: string, until: string) => {
    const model = longest.has(name) ? name : 'other';
    longest.set(model, Math.max(longest.get(model) ?? 0, (Date.parse(until) - now) / 1000));
  };
  for (const { modelPause, stories } of runs) {
    if (modelPause !== undefined) add(modelPause.model, modelPause.until);
    for (const { waiting } of stories) if (waiting?.model !== undefined) add(waiting.model, waiting.notBefore);
  }
  return [...longest].map(([model, value]) => ({ labels: { model }, value }));
}

async function openRuns(store: OperationContext['store']): Promise<readonly RunState[]> {
  const changedAt = await store.openRunsChangedAt();
  const before = known.get(store);
  if (before?.changedAt === changedAt) return before.runs;
  const { runs } = await store.list({ ended: 0 });
  const open = runs.filter(({ status }) => status !== 'ended');
  known.set(store, { changedAt, runs: open });
  return open;
}

/** How many things have each value; values that none has are 0. */
function countBy<T>(
  known: readonly string[],
  things: readonly T[],
  of: (thing: T) => string,
  label: string,
): Gauge['values'] {
  const counts = new Map(known.map((value) => [value, 0]));
  for (const thing of things) counts.set(of(thing), (counts.get(of(thing)) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count }));
}
