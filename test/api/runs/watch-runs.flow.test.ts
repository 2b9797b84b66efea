import { expect, vi } from 'vitest';
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

test('watching the runs of a home reports events of known, new, refused and retried runs, and reads no journal of an ended one', async ({
  store,
}) => {
  const [known, retried, ended] = [await createRun(store), await createRun(store), await createRun(store)];
  for (const runId of [retried, ended]) await store.append(runId, [END]);
  const looks = vi.spyOn(store, 'openRunsChangedAt');
  const read = vi.spyOn(store, 'journalBytes');
  const watching = new AbortController();
  const events: string[] = [];
  const onEvent = ({ type }: { type: string }, { runId }: { runId: string }) => void events.push(`${type} ${runId}`);
  const watched = watchRuns(store, { signal: watching.signal, onEvent });
  try {
    // The first look has ended when the second begins: events are reported since then.
    await vi.waitFor(() => expect(looks.mock.calls.length).toBeGreaterThan(1), PATIENCE);
    await store.append(known, [{ type: 'run.started' }]);
    await store.append(retried, [{ type: 'run.retried', by: 'ada', stories: ['US-001'] }]);
    const [added, refused] = [await createRun(store), created()];
    await store.createEnded(refused, END, origin);
    const expected = [
      `run.started ${known}`,
      `run.retried ${retried}`,
      `run.created ${added}`,
      `run.created ${refused.runId}`,
      `run.ended ${refused.runId}`,
    ];
    await vi.waitFor(() => expect([...events].sort()).toEqual([...expected].sort()), PATIENCE);
  } finally {
    watching.abort();
    await watched;
  }
  expect(read.mock.calls.flat()).toContain(known);
  expect(read.mock.calls.flat()).not.toContain(ended);
});
