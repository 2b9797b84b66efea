import { join } from 'node:path';
import { noTotals, type CountedRun, type MetricTotals } from '../core/metric-totals.ts';
import { readIfExists, writeAtomic } from '../../../lib/fs.ts';
import { isRecord } from '../../../lib/guards.ts';
import { withLock } from '../../../lib/lock.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';

/** The totals of the metrics, and how far each run was counted. */
export interface CountedMetrics {
  totals: MetricTotals;
  /** Runs that changed lately, the latest last. */
  runs: Record<string, CountedRun>;
}

/** The file `metrics.json` of a HALO_HOME. Counters begin at 0 again if it is lost, which Prometheus handles. */
export class MetricsFile {
  readonly #path: string;

  constructor(home: string) {
    this.#path = join(home, 'metrics.json');
  }

  async read(): Promise<CountedMetrics> {
    const value = tryParseJson((await readIfExists(this.#path)) ?? '');
    if (!isRecord(value) || value.v !== 1 || !isRecord(value.totals) || !isRecord(value.runs))
      return { totals: noTotals(), runs: {} };
    return { totals: value.totals as unknown as MetricTotals, runs: value.runs as unknown as CountedMetrics['runs'] };
  }

  /** Writes what `change` returns, durably; of several processes, one after the other. Throws LockBusyError, and disk errors. */
  async update(change: (metrics: CountedMetrics) => CountedMetrics): Promise<void> {
    await withLock(`${this.#path}.lock`, async () => {
      const changed = change(await this.read());
      await writeAtomic(this.#path, `${JSON.stringify({ v: 1, ...changed })}\n`, true);
    });
  }
}
