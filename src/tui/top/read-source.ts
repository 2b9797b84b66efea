import type { Operations } from '../../api/operations.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { sleep } from '../../lib/async.ts';
import { readDiff } from '../diff/read-diff.ts';
import type { DailyCosts, RunSetting, TopSource, TopEvent } from './model.ts';
import type { PrdFiles } from './prds/prd-files.ts';

interface NeededSource {
  source: TopSource;
  runId?: string;
  story?: string | undefined;
  /** The `seq` of the last event that is known. */
  after: number;
}

interface Reader {
  prds: PrdFiles;
  /** The settings of a run by their keys. */
  listSettings: (config: unknown) => readonly RunSetting[];
  /** The costs of all attempts, grouped by day. */
  readCosts?: ((operations: Operations) => Promise<DailyCosts>) | undefined;
  emit: (event: TopEvent) => void;
  signal: AbortSignal;
}

/** Open runs and so many that have ended, the newest; `halo ls` lists all. */
const MAX_ENDED = 500;
const POLL_MS = 1000;
const MAX_POLL_MS = 30_000;
/** Reading takes at most 1/SHARE of the time, so the interval grows with the number of runs. */
const SHARE = 20;
const VIEW_MS = 3000;
const RETRY_MS = 2000;
/** Events that arrive together become one state. */
const BATCH_MS = 40;
const MAX_BATCH = 2000;

/** Reads one part of the data until the signal aborts, and again after an error. Never rejects. */
export async function readSource(operations: Operations, needed: NeededSource, reader: Reader): Promise<void> {
  const { source } = needed;
  const { emit, signal } = reader;
  while (!signal.aborted) {
    try {
      await read(operations, needed, reader);
      if (source === 'diff') return;
    } catch (error) {
      const { message, hint } = toHaloError(error);
      emit({ type: 'failed', source, failure: { message, hint } });
    }
    await sleep(RETRY_MS, signal);
  }
}

async function read(
  operations: Operations,
  needed: NeededSource,
  { prds, listSettings, readCosts, emit, signal }: Reader,
): Promise<void> {
  const { source, runId = '', story } = needed;
  switch (source) {
    case 'runs':
      return poll(POLL_MS, signal, async () => {
        const { runs, omitted } = await operations.listRuns({ ended: MAX_ENDED });
        emit({ type: 'listed', runs, older: omitted.ended });
      });
    case 'workers':
      return poll(POLL_MS, signal, async () => emit({ type: 'workers-listed', ...(await operations.listWorkers()) }));
    case 'breakers':
      return poll(VIEW_MS, signal, async () =>
        emit({ type: 'breakers-listed', breakers: (await operations.listBreakers({ shared: true })).breakers }),
      );
    case 'prds':
      return poll(VIEW_MS, signal, async () => emit({ type: 'prds-listed', prds: await prds.list() }));
    case 'costs':
      if (readCosts === undefined) return;
      return poll(VIEW_MS, signal, async () => emit({ type: 'costs-reported', costs: await readCosts(operations) }));
    case 'view':
      return poll(VIEW_MS, signal, async () => {
        const view = await operations.getRun({ runId });
        emit({ type: 'viewed', view, settings: listSettings(view.record['config']) });
      });
    case 'diff':
      return emit({ type: 'diff-read', runId, story, read: readDiff(await operations.readDiff({ runId, story })) });
    case 'run':
      return followRunEvents(operations, needed, { emit, signal });
  }
}

/** Calls `work` repeatedly; slow work is called less often. */
async function poll(intervalMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    const started = performance.now();
    await work();
    await sleep(Math.min(MAX_POLL_MS, Math.max(intervalMs, (performance.now() - started) * SHARE)), signal);
  }
}

/** Emits the events of a run in batches. An ended run is followed again, because it can be retried. */
async function followRunEvents(
  operations: Operations,
  needed: NeededSource,
  { emit, signal }: Pick<Reader, 'emit' | 'signal'>,
): Promise<void> {
  const { runId = '' } = needed;
  let batch: JournalEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    if (batch.length > 0) emit({ type: 'followed', runId, events: batch });
    batch = [];
  };
  try {
    for await (const { event } of await operations.followEvents({ runId, after: needed.after, follow: true }, signal)) {
      needed.after = event.seq;
      batch.push(event);
      if (batch.length >= MAX_BATCH) send();
      else timer ??= setTimeout(send, BATCH_MS);
    }
  } finally {
    send();
  }
}
