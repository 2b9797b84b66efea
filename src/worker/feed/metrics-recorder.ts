import { countEvents, type CountedRun } from '../../core/metrics/metric-totals.ts';
import type { FedEvents } from '../../store/journal/journal-feed.ts';
import { MetricsFile } from '../../store/metrics-file.ts';
import type { FeedConsumer } from './feed-reader.ts';

/** Runs of which halo remembers how far they were counted. */
const MAX_RUNS = 2_000;

/** Counts events for the metrics of the server, each one once: the file has the totals, and how far each run was counted. */
export class MetricsRecorder implements FeedConsumer {
  readonly #file: MetricsFile;

  constructor(home: string) {
    this.#file = new MetricsFile(home);
  }

  async take({ runId, events }: FedEvents): Promise<void> {
    const { totals, runs } = await this.#file.read();
    const { [runId]: before, ...others } = runs;
    const run: CountedRun = before ?? { seq: 0, metered: [] };
    countEvents(totals, run, events);
    const kept = Object.entries(others).slice(1 - MAX_RUNS);
    await this.#file.write({ totals, runs: { ...Object.fromEntries(kept), [runId]: run } });
  }
}
