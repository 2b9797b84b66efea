import { describe, expect, vi } from 'vitest';
import { watchRuns } from '../../../src/api/runs/watch-runs.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { test as base } from '../../support/fixtures.ts';
import { created } from '../../support/journal.ts';
import { PATIENCE } from '../../support/patience.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'Cancelled.' } as const;

const test = base.extend('store', ({ home }) => openStore(home, { transcribe }));

async function createRun(store: Store): Promise<string> {
  const run = created();
  await store.createRun(run, origin);
  return run.runId;
}

/** Watches until `work` has ended and `wanted` events have been reported. */
async function eventsDuring(store: Store, wanted: number, work: () => Promise<unknown>): Promise<string[]> {
  const watching = new AbortController();
  const events: string[] = [];
  const onEvent = ({ type }: { type: string }, { runId }: { runId: string }) => void events.push(`${type} ${runId}`);
  const watched = watchRuns(store, { signal: watching.signal, onEvent });
  try {
    // Since the first look at the runs.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await work();
    await vi.waitFor(() => expect(events).toHaveLength(wanted), PATIENCE);
  } finally {
    watching.abort();
    await watched;
  }
  return events;
}

describe('watching the runs of a home', () => {
  test('reports the events of a run that existed before, since the watch began', async ({ store }) => {
    const runId = await createRun(store);
    const events = await eventsDuring(store, 1, () => store.append(runId, [{ type: 'run.started' }]));
    expect(events).toEqual([`run.started ${runId}`]);
  });

  test('reports a new run, also one that was refused when it was created', async ({ store }) => {
    const refused = created();
    const events = await eventsDuring(store, 3, async () => {
      await createRun(store);
      await store.createEnded(refused, END, origin);
    });
    expect(events).toEqual(expect.arrayContaining([`run.created ${refused.runId}`, `run.ended ${refused.runId}`]));
  });

  test('reports an ended run that is retried', async ({ store }) => {
    const runId = await createRun(store);
    await store.append(runId, [END]);
    const retry = { type: 'run.retried' as const, by: 'ada', stories: ['US-001'] };
    expect(await eventsDuring(store, 1, () => store.append(runId, [retry]))).toEqual([`run.retried ${runId}`]);
  });

  test('does not look at the journals of runs that have ended', async ({ store }) => {
    const ended = await createRun(store);
    await store.append(ended, [END]);
    const open = await createRun(store);
    const read = vi.spyOn(store, 'journalBytes');
    await eventsDuring(store, 1, () => store.append(open, [{ type: 'run.started' }]));
    expect(read.mock.calls.flat()).toContain(open);
    expect(read.mock.calls.flat()).not.toContain(ended);
  });
});
