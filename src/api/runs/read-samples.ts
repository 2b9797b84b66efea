import type { JournalEvent } from '../../core/journal/events.ts';
import { samplesOf, type StorySample } from '../../core/report/story-samples.ts';
import { canonicalSource } from '../../git/repository/repo-url.ts';
import type { Store } from '../../store/store.ts';
import { readReportOf, type ReportOf } from './read-report-of.ts';

/** Newer runs say more about the next one than older ones. */
const MAX_RUNS = 50;
/** Limits the time in a home in which most runs belong to other repositories. */
const MAX_SCANNED = 300;

/** Samples from the newest ended runs of a repository, by its path or address. Runs that replay a cassette do not count. */
export async function readSamples(
  store: Pick<Store, 'runIds' | 'follow' | 'readRecord'>,
  source: string,
): Promise<ReportOf<StorySample>> {
  const report: ReportOf<StorySample> = { entries: [], unreadable: [] };
  let runs = 0;
  for (const runId of (await store.runIds()).slice(0, MAX_SCANNED)) {
    if (runs >= MAX_RUNS) break;
    const { entries, unreadable } = await readReportOf(store, runId, async (events) => {
      const samples = samplesOf(await readEventsOf(source, events));
      return samples.length === 0 || isReplay(await store.readRecord(runId)) ? [] : samples;
    });
    report.entries.push(...entries);
    report.unreadable.push(...unreadable);
    if (entries.length > 0) runs += 1;
  }
  return report;
}

/** The events of a run without the activities of its agent; none if it is a run of another repository. */
async function readEventsOf(source: string, events: AsyncIterable<JournalEvent>): Promise<JournalEvent[]> {
  const read: JournalEvent[] = [];
  for await (const event of events) {
    if (event.type === 'run.created' && canonicalSource(event.repo.source) !== canonicalSource(source)) break;
    if (event.type !== 'agent.activity') read.push(event);
  }
  return read;
}

function isReplay({ config }: Record<string, unknown>): boolean {
  return (config as { model?: { mode?: string } } | undefined)?.model?.mode === 'replay';
}
