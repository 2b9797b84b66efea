import { countEvents, countSwept, type CountedRun } from '../core/metric-totals.ts';
import type { FedEvents } from '../../../store/journal/journal-feed.ts';
import type { FeedConsumer } from '../../../worker/feed/feed-reader.ts';
import { MetricsFile } from '../store/metrics-file.ts';

/** Open runs of which halo remembers how far they were counted. */
const MAX_OPEN = 2_000;
/** The same for ended ones: their last events are handed on again only after a crash. */
const MAX_ENDED = 100;

/** Counts events for the metrics of the server, each one once: the file has the totals, and how far each run was counted. */
export class MetricsRecorder implements FeedConsumer {
  readonly #file: MetricsFile;

  constructor(home: string) {
    this.#file = new MetricsFile(home);
  }

  async take({ runId, events }: FedEvents): Promise<void> {
    await this.#file.update(({ totals, runs }) => {
      const { [runId]: before, ...others } = runs;
      const run: CountedRun = before ?? { seq: 0, metered: [] };
      countEvents(totals, run, events);
      const [ended, open] = [true, undefined].map((end) =>
        Object.entries(others).filter(([, each]) => each.ended === end),
      );
      const kept = [...(ended ?? []).slice(-MAX_ENDED), ...(open ?? []).slice(-MAX_OPEN)];
      return { totals, runs: { ...Object.fromEntries(kept), [runId]: run } };
    });
  }
}

/** Counts the resources of dead workers that were removed. */
export async function recordSwept(home: string, swept: number): Promise<void> {
  await new MetricsFile(home).update(({ totals, runs }) => (countSwept(totals, swept), { totals, runs }));
}
