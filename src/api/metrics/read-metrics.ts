import { toExposition, type Gauge } from '../../core/metrics/exposition.ts';
import type { RunState } from '../../core/run/state.ts';
import { haloVersion } from '../../lib/version.ts';
import { listWorkers } from '../../store/process-registry.ts';
import { MetricsFile } from '../../store/metrics-file.ts';
import type { OperationContext } from '../operations/operation-context.ts';

/** What is open, with the time of the last change of an open run: scrapes read runs only after a change. */
const known = new WeakMap<object, { changedAt: number; runs: readonly RunState[] }>();

/** The metrics of a server in the text format of Prometheus. Throws DISK_FAILED. */
export async function readMetrics({ host, store, breakers }: OperationContext): Promise<string> {
  const [{ totals }, runs, workers, shared] = await Promise.all([
    new MetricsFile(host.home).read(),
    openRuns(store),
    listWorkers(host.home),
    breakers.list(),
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
        ['pending', 'in_progress', 'passed', 'failed', 'needs_human'],
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
      name: 'breakers_open',
      help: 'Circuit breakers that are not closed.',
      values: [
        ...['repository', 'provider'].map((kind) => ({ labels: { kind }, value: open(kind) })),
        { labels: { kind: 'run' }, value: runs.filter(({ breaker }) => breaker !== undefined).length },
      ],
    },
  ]);
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
