import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { withDiskErrors } from '../../../src/store/disk-errors.ts';
import { openStore } from '../../../src/store/store.ts';
import { readSpending } from '../../../src/worker/network/attempt-budget.ts';
import { it } from '../../support/fixtures.ts';
import { attempted, created } from '../../support/journal.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' };
const DAY = '2030-01-02';

const used = (story: string, tokens: number, costUsd?: number, attempt = 1): JournalEntry => ({
  ...{ type: 'model.used', model: 'm', told: 'all', story, attempt, tokens },
  usage: {
    requests: 1,
    inputTokens: tokens,
    cachedTokens: 0,
    outputTokens: 0,
    ...(costUsd === undefined ? {} : { costUsd }),
  },
});

/** Adds runs; `at` is the time of all further entries. */
function openJournals(home: string) {
  let now = '';
  const store = openStore(home, { transcribe: () => [], now: () => new Date(now) });
  const at = async (time: string, runId: string, ...entries: JournalEntry[]) => {
    now = time;
    await store.append(runId, entries);
  };
  const add = async (time: string) => {
    now = time;
    const entry = created(undefined, 2);
    await store.createRun(entry, ORIGIN);
    await store.append(entry.runId, [{ type: 'run.started' }, ...attempted('US-001')]);
    return entry.runId;
  };
  const spent = (name: 'story' | 'run' | 'day', runId: string, story = 'US-001') =>
    readSpending({ worker: { store }, identity: { runId, story } }, { name, key: `home:day:${DAY}` });
  return { at, add, spent };
}

it('the spending of a story and of a run counts all attempts, and no other story or run', async ({ home }) => {
  const { at, add, spent } = openJournals(home);
  const [runId, other] = [await add('2030-01-02T10:00:00Z'), await add('2030-01-02T10:00:00Z')];
  const entries = [
    used('US-001', 100, 0.1),
    used('US-001', 10, 0.2, 2),
    used('US-002', 1, 0.000_001),
    used('US-002', 5),
  ];
  await at('2030-01-02T11:00:00Z', runId, ...entries);
  await at('2030-01-02T11:00:00Z', other, used('US-001', 7, 7));
  expect(await spent('story', runId)).toEqual({ microUsd: 300_000, tokens: 110 });
  expect(await spent('story', runId, 'US-002')).toEqual({ microUsd: 1, tokens: 6 });
  expect(await spent('run', runId)).toEqual({ microUsd: 300_001, tokens: 116 });
});

it('the spending of a day counts all runs, also those that began or ended on another day', async ({ home }) => {
  const { at, add, spent } = openJournals(home);
  const [yesterday, over, ended] = [
    await add('2030-01-01T10:00:00Z'),
    await add('2030-01-01T23:00:00Z'),
    await add('2030-01-02T01:00:00Z'),
  ];
  await at('2030-01-01T11:00:00Z', yesterday, used('US-001', 1000), END);
  await at('2030-01-01T23:59:59.999Z', over, used('US-001', 500));
  await at('2030-01-02T00:00:00Z', over, used('US-001', 30));
  await at('2030-01-02T02:00:00Z', ended, used('US-001', 2), END);
  await at('2030-01-03T00:00:00Z', over, used('US-001', 90), END);
  expect(await spent('day', ended)).toEqual({ microUsd: 0, tokens: 32 });
});

it('hazard 60: the spending of a day is unknown, and not less, while files of a run cannot be opened', async ({
  home,
}) => {
  const { at, add } = openJournals(home);
  const runId = await add('2030-01-02T10:00:00Z');
  await at('2030-01-02T11:00:00Z', runId, used('US-001', 40));
  const store = openStore(home, { transcribe: () => [] });
  const spent = () =>
    readSpending({ worker: { store }, identity: { runId, story: 'US-001' } }, { name: 'day', key: `home:day:${DAY}` });
  const tooMany = Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE', errno: -24 });
  vi.spyOn(store, 'readState').mockImplementationOnce(() => withDiskErrors(home, () => Promise.reject(tooMany)));
  await expect(spent()).rejects.toMatchObject({
    code: 'DISK_FAILED',
    hint: expect.stringContaining('ulimit') as string,
  });
  expect(await spent()).toEqual({ microUsd: 0, tokens: 40 });
  truncateSync(join(home, 'runs', runId, 'journal.jsonl'), 5);
  rmSync(join(home, 'runs', runId, 'checkpoints'), { recursive: true });
  expect(await spent(), 'a damaged run must not stop all others').toEqual({ microUsd: 0, tokens: 0 });
});

it('the spending of a day counts answers that arrive after their run was cancelled', async ({ home }) => {
  const { at, add, spent } = openJournals(home);
  const runId = await add('2030-01-01T23:00:00Z');
  await at('2030-01-01T23:59:59Z', runId, END);
  await at('2030-01-02T00:00:01Z', runId, used('US-001', 40));
  expect(await spent('day', runId)).toEqual({ microUsd: 0, tokens: 40 });
});
