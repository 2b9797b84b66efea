import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { RunIndex } from '../../src/store/run-index.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { RunQuery } from '../../src/store/run/run-list.ts';
import { created } from '../support/journal.ts';
import { test as base } from '../support/fixtures.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const end = (stopReason: 'SUCCESS' | 'USER_ABORT' | 'GATE_FAILED') =>
  ({ type: 'run.ended', stopReason, detail: 'Done.' }) as const;

const test = base.extend('store', ({ home }) => openStore(home, { transcribe }));

let serial = 0;
/** Creates a run whose id sorts behind those before it. */
async function create(store: Store, of: { repo?: string; user?: string; prd?: string; batch?: string } = {}) {
  const run = created(`0000${(serial += 1).toString().padStart(11, '0')}`);
  const { repo = '/home/ada/api', user = 'ada', prd = run.prdPath, batch } = of;
  const more = batch === undefined ? {} : { batch: { id: batch, name: repo, place: 0, of: 1 } };
  await store.createRun({ ...run, ...more, user, prdPath: prd, repo: { ...run.repo, source: repo } }, origin);
  return run.runId;
}

const idsOf = async (store: Store, query: RunQuery) => (await store.list(query)).runs.map(({ runId }) => runId);
/** Makes a journal unreadable, so that a list that reads the run has it among the unreadable ones. */
const damage = (home: string, runId: string) => {
  rmSync(join(home, 'runs', runId, 'artifacts', 'checkpoint.json'), { force: true });
  writeFileSync(join(home, 'runs', runId, 'journal.jsonl'), 'no journal\n');
};

describe('a list with conditions', () => {
  test('reads only the runs that match', async ({ home, store }) => {
    const [api, web] = [await create(store), await create(store, { repo: '/srv/web', user: 'bob' })];
    const planned = await create(store, { prd: '/home/ada/prd.json', batch: 'bjfw1' });
    for (const runId of [api, web]) await store.append(runId, [end(runId === api ? 'SUCCESS' : 'GATE_FAILED')]);
    expect(await idsOf(store, { repo: '/srv/web' })).toEqual([web]);
    expect(await idsOf(store, { repo: 'api' })).toEqual([planned, api]);
    expect(await idsOf(store, { user: 'ada', state: 'success' })).toEqual([api]);
    expect(await idsOf(store, { state: 'failed' })).toEqual([web]);
    expect(await idsOf(store, { prd: '/home/ada/prd.json' })).toEqual([planned]);
    expect(await idsOf(store, { batch: 'JFW' })).toEqual([planned]);
    expect(await idsOf(store, { batch: '' })).toEqual([planned]);
    for (const find of ['web', 'bob GATE', 'Story number 1 bob', `shop ${web}`, '  FAILED  ', 'srv us-001'])
      expect([find, await idsOf(store, { find, ended: 9, open: 0 })]).toEqual([find, [web]]);
    expect(await idsOf(store, { find: 'queued ADA' }), 'the state of an open run').toEqual([planned]);
    expect(await idsOf(store, { find: 'bob ada' })).toEqual([]);
    expect(await idsOf(store, { isVisible: (source) => source.startsWith('/srv/') })).toEqual([web]);
    damage(home, api);
    damage(home, planned);
    const other = openStore(home, { transcribe });
    expect(await other.list({ repo: '/srv/web' })).toMatchObject({ runs: [{ runId: web }], unreadable: [] });
    expect(await other.list({ state: 'GATE_FAILED', ended: 5, open: 0 })).toMatchObject({ unreadable: [] });
    expect(await other.list({ find: 'story bob', ended: 5, open: 0 })).toMatchObject({
      ...{ runs: [{ runId: web }], unreadable: [] },
    });
  });

  test('does not count runs that may be invisible', async ({ home, store }) => {
    for (const repo of ['/srv/secret', '/srv/secret', '/srv/web', '/srv/web'])
      await store.append(await create(store, { repo }), [end('SUCCESS')]);
    const path = join(home, 'run-index.jsonl');
    const known = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, `${known.filter((line) => !line.includes('secret')).join('\n')}\n`);
    const isVisible = (source: string) => source === '/srv/web';
    const page = await openStore(home, { transcribe }).list({ isVisible, ended: 1, open: 0 });
    expect([page.runs.length, page.omitted]).toEqual([1, { open: 0, ended: 1 }]);
  });

  test('reads the state and the text of a run whose line another version wrote', async ({ home, store }) => {
    const runId = await create(store, { repo: '/srv/shop' });
    await store.append(runId, [end('SUCCESS')]);
    const path = join(home, 'run-index.jsonl');
    const lines = readFileSync(path, 'utf8');
    writeFileSync(path, lines.replaceAll('"v":2', '"v":1').replaceAll('success', 'other'));
    const reader = openStore(home, { transcribe });
    expect(await idsOf(reader, { state: 'success', ended: 5, open: 0 })).toEqual([runId]);
    expect(await idsOf(reader, { find: 'shop', ended: 5, open: 0 })).toEqual([runId]);
  });

  test('reads a run whose stories have more text than the index keeps', async ({ home, store }) => {
    const first = created(`0000${(serial += 1).toString().padStart(11, '0')}`);
    const title = `${Array.from({ length: 1_200 }, (_, index) => `long${index}`).join(' ')} needle`;
    const stories = first.prd.stories.map((story) => ({ ...story, title }));
    await store.createRun({ ...first, prd: { ...first.prd, stories } }, origin);
    await store.append(first.runId, [end('SUCCESS')]);
    await create(store);
    expect(readFileSync(join(home, 'run-index.jsonl'), 'utf8')).not.toContain('needle');
    for (const reader of [store, openStore(home, { transcribe })])
      expect(await idsOf(reader, { find: 'NEEDLE long399', ended: 5, open: 0 })).toEqual([first.runId]);
  });

  test('finds words of a run with a hundred stories in the index, which has each word once', async ({
    home,
    store,
  }) => {
    const first = created(`0000${(serial += 1).toString().padStart(11, '0')}`, 100);
    const stories = first.prd.stories.map((story, index) => ({
      ...story,
      title: `Show the list of articles of shelf ${index} on the first page of the shop`,
    }));
    await store.createRun({ ...first, prd: { ...first.prd, stories } }, origin);
    await store.append(first.runId, [end('SUCCESS')]);
    const lines = readFileSync(join(home, 'run-index.jsonl'), 'utf8').split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(3_000);
    const words = [first.runId, 'shop', 'us-0042', 'ARTICLES shelf', 'shelf 77'];
    for (const find of words) expect(await idsOf(store, { find, ended: 5, open: 0 }), find).toEqual([first.runId]);
    damage(home, first.runId);
    const other = await openStore(home, { transcribe }).list({ find: 'shelves', ended: 5, open: 0 });
    expect(other.unreadable, 'it is not read').toEqual([]);
  });

  test('has the newest that match, and says where the next page begins', async ({ store }) => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i += 1) ids.unshift(await create(store, { user: i % 2 === 0 ? 'ada' : 'bob' }));
    const [, second = '', , fourth = '', , sixth = ''] = ids;
    const page = await store.list({ user: 'ada', newest: 2 });
    expect([page.runs.map(({ runId }) => runId), page.next, page.omitted.open]).toEqual([[second, fourth], fourth, 1]);
    const next = await store.list({ user: 'ada', newest: 2, before: page.next });
    expect([next.runs.map(({ runId }) => runId), next.next]).toEqual([[sixth], undefined]);
  });

  test('counts open and ended runs on their own', async ({ store }) => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i += 1) ids.unshift(await create(store));
    const [newest = '', , oldestOpen = '', ended = '', alsoEnded = ''] = ids;
    for (const runId of ids.slice(3)) await store.append(runId, [end('SUCCESS')]);
    await store.append(oldestOpen, [{ type: 'run.started' }]);
    const { runs, omitted } = await store.list({ user: 'ada', open: 2, ended: 2 });
    expect(runs.map(({ runId }) => runId)).toEqual([newest, oldestOpen, ended, alsoEnded]);
    expect(omitted, 'those that have started come first').toEqual({ open: 1, ended: 1 });
    const all = await store.list({ user: 'ada', open: 0, ended: 0 });
    expect([all.runs, all.omitted], 'none is asked for').toEqual([[], { open: 3, ended: 3 }]);
    const page = await store.list({ open: 0, newest: 2 });
    expect(page, 'pages of ended runs').toMatchObject({
      next: alsoEnded,
      runs: [{ runId: ended }, { runId: alsoEnded }],
    });
  });

  test('follows a run that is retried and ends in another way', async ({ home, store }) => {
    const runId = await create(store);
    await store.append(runId, [end('GATE_FAILED')]);
    await store.append(runId, [{ type: 'run.retried', by: 'ada', stories: ['US-001'] }]);
    expect(await idsOf(store, { state: 'GATE_FAILED' })).toEqual([]);
    await store.append(runId, [{ type: 'run.started' }, end('USER_ABORT')]);
    for (const reader of [store, openStore(home, { transcribe })]) {
      expect(await idsOf(reader, { state: 'GATE_FAILED' })).toEqual([]);
      expect(await idsOf(reader, { state: 'USER_ABORT' })).toEqual([runId]);
    }
  });

  test('reads the run if the process died after an event and before the index', async ({ home, store }) => {
    const runId = await create(store);
    await store.append(runId, [end('SUCCESS')]);
    const index = join(home, 'run-index.jsonl');
    const before = readFileSync(index, 'utf8');
    await store.append(runId, [
      { type: 'run.rejected', by: 'ada', tip: (await store.readState(runId)).tip, reason: 'No.' },
    ]);
    const [, forgotten = ''] = readFileSync(index, 'utf8').slice(before.length).split('\n');
    expect(JSON.parse(forgotten), 'written before the event').not.toHaveProperty('state');
    writeFileSync(index, `${before}\n${forgotten}\n`);
    expect(await idsOf(openStore(home, { transcribe }), { state: 'rejected' })).toEqual([runId]);
  });
});

describe('the index of runs', () => {
  test('is rebuilt from the journals when it is missing or damaged', async ({ home, store }) => {
    const [one, two] = [await create(store), await create(store, { user: 'bob' })];
    await store.append(one, [end('SUCCESS')]);
    for (const spoil of [
      () => rmSync(join(home, 'run-index.jsonl')),
      () => writeFileSync(join(home, 'run-index.jsonl'), '{"runId":"0000'),
    ]) {
      spoil();
      const reader = openStore(home, { transcribe });
      expect(await idsOf(reader, { user: 'bob' })).toEqual([two]);
      await reader.findOpenRuns({ all: true });
      const facts = await new RunIndex(home).read();
      expect(facts.get(one)).toMatchObject({ user: 'ada', state: ['ended', 'success', 'done'] });
      expect(facts.get(two)).not.toHaveProperty('state');
    }
  });

  test('loses lines of removed runs in the daily search, and no line that is added meanwhile', async ({
    home,
    store,
  }) => {
    const [removed, kept] = [await create(store), await create(store)];
    for (const runId of [removed, kept]) await store.append(runId, [end('GATE_FAILED')]);
    rmSync(join(home, 'runs', removed), { recursive: true });
    const index = new RunIndex(home);
    const [state, created] = [await store.readState(kept), await create(store)];
    await index.refresh(
      async () => {
        await store.append(kept, [{ type: 'run.rejected', by: 'ada', tip: state.tip, reason: 'No.' }]);
        return [state, await store.readState(created)];
      },
      { all: true },
    );
    const facts = await index.read();
    expect([...facts.keys()].sort()).toEqual([kept, created].sort());
    expect(facts.get(kept)?.state, 'the state that was read first is older').toContain('rejected');
  });

  test('survives a line that a dying process began', async ({ home, store }) => {
    await create(store);
    appendFileSync(join(home, 'run-index.jsonl'), '\n{"runId":"00000000');
    const runId = await create(store, { user: 'bob' });
    expect((await new RunIndex(home).read()).get(runId)).toMatchObject({ user: 'bob' });
    expect(existsSync(join(home, 'run-index.jsonl.lock'))).toBe(false);
  });
});
