import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openLimitedRuns } from '../../src/api/runs/limited-runs.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { newRunId } from '../../src/lib/run-id.ts';
import { attempted, created } from '../support/journal.ts';
import { test as base } from '../support/fixtures.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'Cancelled.' } as const;

const test = base.extend('store', ({ home }) => openStore(home, { transcribe }));

async function create(store: Store, count: number): Promise<string[]> {
  const runs = Array.from({ length: count }, () => ({ created: created(), origin }));
  await store.createRuns(runs);
  return runs.map(({ created: { runId } }) => runId).sort();
}

const openIds = async (store: Store) => (await store.openRuns()).map(({ runId }) => runId).sort();

describe('the open runs', () => {
  test('are those that have not ended, with whether they have started', async ({ store }) => {
    const [first = '', second = '', third = ''] = await create(store, 3);
    await store.append(second, [{ type: 'run.started' }]);
    await store.append(third, [END]);
    expect(await store.openRuns()).toEqual([
      { runId: second, started: true },
      { runId: first, started: false },
    ]);
  });

  test('include an ended run that a user retries, before the event is in its journal', async ({ home, store }) => {
    const [runId = ''] = await create(store, 1);
    await store.append(runId, [END]);
    expect(await openIds(store)).toEqual([]);
    await store.append(runId, [{ type: 'run.retried', by: 'ada', stories: ['US-001'] }]);
    expect((await store.readState(runId)).status).not.toBe('ended');
    expect(await openIds(openStore(home, { transcribe }))).toEqual([runId]);
  });

  test('do not include a run that was refused when it was created', async ({ store }) => {
    await store.createEnded(created(), END, origin);
    expect(await store.openRuns()).toEqual([]);
  });

  test('the open runs of a home that has lost its list are found in the journals', async ({ home, store }) => {
    const [first = '', second = ''] = await create(store, 2);
    await store.append(second, [END]);
    rmSync(join(home, 'open-runs'), { recursive: true });
    expect(await openIds(store)).toEqual([first]);
    expect(readdirSync(join(home, 'open-runs')).sort()).toEqual(['.complete', first]);
  });

  test('include a run that was copied into the home, once a worker has started', async ({ home, store }) => {
    const [first = '', second = ''] = await create(store, 2);
    await store.openRuns();
    rmSync(join(home, 'open-runs', second));
    expect(await openIds(store)).toEqual([first]);
    await store.findOpenRuns();
    expect(await openIds(store)).toEqual([first, second]);
  });

  test('are found without the journals of runs that were found to have ended before, except in a daily search', async ({
    home,
    store,
  }) => {
    const [first = '', second = ''] = await create(store, 2);
    await store.append(first, [END]);
    await store.findOpenRuns();
    // A journal that is read and damaged makes its run count as open.
    writeFileSync(join(home, 'runs', first, 'journal.jsonl'), 'no journal\n');
    await store.findOpenRuns();
    expect(await openIds(store)).toEqual([second]);
    await store.findOpenRuns({ all: true });
    expect(await openIds(store)).toEqual([first, second]);
  });

  test('have another time after one of them has changed', async ({ home, store }) => {
    const [runId = ''] = await create(store, 1);
    const changes: Parameters<Store['append']>[1][] = [
      [{ type: 'run.started' }],
      [{ type: 'run.paused', by: 'ada', now: false }],
      [END],
      [{ type: 'run.retried', by: 'ada', stories: ['US-001'] }],
    ];
    for (const entries of changes) {
      utimesSync(join(home, 'open-runs'), 1_000, 1_000);
      expect(await store.openRunsChangedAt()).toBe(1_000_000);
      await store.append(runId, entries);
      expect(await store.openRunsChangedAt()).not.toBe(1_000_000);
    }
  });

  test('do not include files with other names', async ({ home, store }) => {
    const [runId = ''] = await create(store, 1);
    writeFileSync(join(home, 'open-runs', 'notes.txt'), '');
    expect(await openIds(store)).toEqual([runId]);
  });

  test('lose a run whose process died between its end and the removal of its file', async ({ home, store }) => {
    const [runId = ''] = await create(store, 1);
    await store.openRuns();
    await store.append(runId, [END]);
    writeFileSync(join(home, 'open-runs', runId), '');
    expect(await openIds(store)).toEqual([runId]);
    expect((await store.list({ open: 5, ended: 0 })).runs).toMatchObject([{ runId, status: 'ended' }]);
    await store.settle(runId);
    expect(await openIds(store)).toEqual([]);
  });

  test('keep a run that has not ended when it is settled', async ({ home, store }) => {
    const [runId = ''] = await create(store, 1);
    await store.settle(runId);
    expect(existsSync(join(home, 'open-runs', runId))).toBe(true);
  });
});

describe('a list', () => {
  test('has the newest started runs, then others, and counts what it leaves out', async ({ store }) => {
    const ids = await create(store, 6);
    const [ended = '', alsoEnded = '', started = '', third = '', fourth = '', fifth = ''] = ids;
    for (const runId of [ended, alsoEnded]) await store.append(runId, [END]);
    await store.append(started, [{ type: 'run.started' }]);
    const namesOf = async (query: Parameters<Store['list']>[0]) => {
      const { runs, omitted } = await store.list(query);
      return [runs.map(({ runId }) => runId).sort(), omitted];
    };
    expect(await namesOf({ open: 2, ended: 1 })).toEqual([[alsoEnded, started, fifth], { open: 2, ended: 1 }]);
    expect(await namesOf({ newest: 3 })).toEqual([[third, fourth, fifth], { open: 1, ended: 2 }]);
    expect(await namesOf({})).toEqual([ids, { open: 0, ended: 0 }]);
    expect((await namesOf({ ended: 0, started: true }))[0]).toEqual([started]);
  });

  test('a list with a fleet limit reads the runs of its page and those that have started', async ({ home, store }) => {
    const [busy = '', unread = '', newest = ''] = await create(store, 3);
    await store.append(busy, [{ type: 'run.started' }, ...attempted('US-001')]);
    writeFileSync(join(home, 'config.toml'), '[fleet]\nmax = 1\n');
    writeFileSync(join(home, 'runs', unread, 'journal.jsonl'), 'no journal\n');
    const read: string[] = [];
    const limited = openLimitedRuns(home, {
      list: async (query) => {
        const list = await store.list(query);
        read.push(...list.runs.map(({ runId }) => runId), ...list.unreadable.map(({ runId }) => runId));
        return list;
      },
    });
    const { runs } = await limited.list({ newest: 1 });
    expect(runs).toMatchObject([{ runId: newest, heldBy: 'fleet.max = 1' }]);
    expect(read.sort()).toEqual([busy, newest].sort());
    expect(await limited.of(await store.readState(newest))).toEqual({ heldBy: 'fleet.max = 1' });
  });

  test('does not have an open run whose folder was removed', async ({ home, store }) => {
    const [first = '', second = ''] = await create(store, 2);
    rmSync(join(home, 'runs', second), { recursive: true });
    const { runs, unreadable } = await store.list();
    expect([runs.map(({ runId }) => runId), unreadable]).toEqual([[first], []]);
  });
});

describe('a list of runs', () => {
  const DAY = 86_400_000;
  const START = Date.UTC(2030, 0, 1);

  /** Runs that were created a day apart, the newest first. */
  async function fill(home: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let day = 0; day < count; day += 1) {
      const at = new Date(START + day * DAY);
      const runId = newRunId(at, randomBytes);
      await openStore(home, { transcribe, now: () => at }).createRun(created(runId), origin);
      ids.unshift(runId);
    }
    return ids;
  }

  test('comes in pages', async ({ home, store }) => {
    const ids = await fill(home, 5);
    const idsOf = ({ runs }: Awaited<ReturnType<Store['list']>>) => runs.map(({ runId }) => runId);
    const first = await store.list({ newest: 2 });
    expect([idsOf(first), first.next, first.omitted.open]).toEqual([ids.slice(0, 2), ids[1], 3]);
    const second = await store.list({ newest: 3, before: first.next });
    expect([idsOf(second), second.next, second.omitted.open]).toEqual([ids.slice(2), undefined, 0]);
  });

  test('a list of runs since a time reads only runs that are not older', async ({ home, store }) => {
    const ids = await fill(home, 5);
    // An older run that cannot be read is not even opened.
    for (const runId of ids.slice(3)) writeFileSync(join(home, 'runs', runId, 'journal.jsonl'), 'no journal\n');
    const { runs, unreadable } = await store.list({ since: new Date(START + 2 * DAY).toISOString() });
    expect([runs.map(({ runId }) => runId), unreadable]).toEqual([ids.slice(0, 3), []]);
    const later = await store.list({ since: new Date(START + 2 * DAY + 1).toISOString() });
    expect(later.runs.map(({ runId }) => runId)).toEqual(ids.slice(0, 2));
  });
});
