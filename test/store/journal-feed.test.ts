import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { created, passed } from '../support/journal.ts';
import { tempDir } from '../support/temp-dir.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const signal = new AbortController().signal;

let home: string;
let store: Store;
beforeEach(() => {
  home = tempDir('halo-feed');
  store = openStore(home, { transcribe });
});

async function newRun(): Promise<string> {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  return entry.runId;
}

/** What the feed hands on now: `<type> <status of the run>`. */
async function takeAll(): Promise<string[]> {
  const taken: string[] = [];
  await store.feedEvents(async ({ events, state }) => {
    taken.push(...events.map(({ type }) => `${type} ${state.status}`));
    await Promise.resolve();
  }, signal);
  return taken;
}

const waiting = () => (existsSync(join(home, 'feed')) ? readdirSync(join(home, 'feed')) : []);
const END = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' } as const;

describe('the feed', () => {
  test('hands on each event once, also those after the end of a run, and then keeps no file', async () => {
    const runId = await newRun();
    await store.append(runId, [{ type: 'run.started' }]);
    expect(await takeAll()).toEqual(['run.started running']);
    expect(await takeAll()).toEqual([]);
    const activity = { kind: 'say', text: 'hello' } as const;
    await store.append(runId, [{ type: 'agent.activity', story: 'US-001', attempt: 1, activity }]);
    await store.append(runId, [...passed('US-001').slice(-1), END]);
    expect(await takeAll()).toEqual(['story.ended ended', 'run.ended ended']);
    expect(waiting()).toEqual([]);
    const other = openStore(home, { transcribe });
    await other.append(runId, [{ type: 'run.landed', branch: 'main', from: 'a', to: 'b' }]);
    expect(await takeAll()).toEqual(['run.landed ended']);
    expect(waiting()).toEqual([]);
  });

  test('hands events on again if their reader fails or dies', async () => {
    const runId = await newRun();
    await store.append(runId, [{ type: 'run.started' }]);
    await expect(store.feedEvents(() => Promise.reject(new Error('killed')), signal)).rejects.toThrow('killed');
    expect(await takeAll()).toEqual(['run.started running']);
  });

  test('misses no event that is appended while others are read', async () => {
    const runId = await newRun();
    await store.append(runId, [{ type: 'run.started' }]);
    const taken: string[] = [];
    await store.feedEvents(async ({ events }) => {
      taken.push(...events.map(({ type }) => type));
      await store.append(runId, [END]);
    }, signal);
    expect([...taken, ...(await takeAll())]).toEqual(['run.started', 'run.ended ended']);
  });

  test('reads nothing of runs without new events, and forgets runs that were removed', async () => {
    const [gone, quiet] = [await newRun(), await newRun()];
    await store.append(quiet, [{ type: 'run.started' }]);
    await takeAll();
    await store.append(gone, [{ type: 'run.started' }]);
    rmSync(join(home, 'runs', gone), { recursive: true });
    expect(waiting()).toEqual([gone]);
    expect(await takeAll()).toEqual([]);
    expect(waiting()).toEqual([]);
  });

  test('hazard 18: misses no event although the disk was full when the file of the run was written', async () => {
    const runId = await newRun();
    const handle = await open(home);
    const proto = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', errno: -28 });
    vi.spyOn(proto, 'writeFile').mockRejectedValueOnce(full);
    await expect(store.append(runId, [{ type: 'run.started' }])).rejects.toMatchObject({ code: 'DISK_FAILED' });
    await store.append(runId, [{ type: 'run.started' }]);
    expect(await takeAll()).toEqual(['run.started running']);
  });

  test.each(['', '\0\0\0', 'NaN', '12', '999999999'])(
    'hazard 50: hands on all events of a run whose file is damaged (%j), and says so',
    async (text) => {
      const runId = await newRun();
      await store.append(runId, [{ type: 'run.started' }]);
      writeFileSync(join(home, 'feed', runId), text);
      const repeated: unknown[] = [];
      await store.feedEvents(async ({ events, isRepeated }) => {
        repeated.push(isRepeated, ...events.map(({ type }) => type));
        await Promise.resolve();
      }, signal);
      expect(repeated).toEqual([true, 'run.created', 'run.started']);
    },
  );
});
