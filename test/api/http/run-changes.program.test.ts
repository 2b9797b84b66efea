import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Users } from '../../../src/api/access/users.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import type { RunFrame } from '../../../src/api/runs/run-followers.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { asked, attempted, created, failed, succeeded } from '../../support/journal.ts';
import { advanceUntil } from '../../support/advance-until.ts';

const OWNER = 'the-token-of-the-server';
const [OLD, NEW] = ['0tbq1aaaaaaaaaaa', '0tbq2bbbbbbbbbbb'];
const END = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '0 of 1 stories passed' } as const;

let home: ScriptedHome;
let served: Served;
const open: AbortController[] = [];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true });
  home = openScriptedHome();
  served = await serveApi({
    operations: home.operations,
    listen: '127.0.0.1:0',
    host: { ...home.host, apiToken: OWNER },
  });
});
afterEach(async () => {
  for (const each of open.splice(0)) each.abort();
  await served.close();
  await home.remove();
  vi.useRealTimers();
});

interface Follow {
  token?: string;
  ended?: number;
  after?: string | undefined;
}

/** Follows the list of runs as a browser does. The frames grow while the stream is open. */
async function follow({ token = OWNER, ended = 100, after }: Follow = {}) {
  const closing = new AbortController();
  open.push(closing);
  const response = await fetch(`${served.url}/v1/run-changes?follow=true&ended=${ended}`, {
    headers: {
      ...{ authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      ...(after !== undefined && { 'last-event-id': after }),
    },
    signal: closing.signal,
  });
  expect(response.status).toBe(200);
  let text = '';
  void (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  })().catch(() => undefined);
  const frames = () =>
    text
      .split('\n\n')
      .slice(0, -1)
      .filter((frame) => frame.includes('data: '))
      .map((frame) => ({
        id: /^id: "(.*)"$/m.exec(frame)?.[1],
        runs: (JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') as RunFrame).runs,
      }));
  await advanceUntil(() => expect(frames().length).toBeGreaterThan(0));
  return {
    frames,
    /** The ids of the runs of each frame. */
    ids: () => frames().map(({ runs }) => runs.map(({ runId }) => runId)),
    lastId: () => frames().at(-1)?.id,
    close: () => closing.abort(),
  };
}

async function tokenOf(name: string, repositories: string[]): Promise<string> {
  const users = new Users(home.host.home);
  const by = { by: 'owner', now: new Date() };
  await users.add({ name, role: 'viewer', repositories }, by);
  return (await users.createToken(name, undefined, by)).token;
}

describe('the stream of runs', () => {
  it('continues after Last-Event-ID with what has changed alone', async () => {
    await home.addRun(succeeded(OLD));
    await home.addRun([created(NEW, 1), { type: 'run.started' }]);
    const first = await follow();
    expect(first.ids()).toEqual([[NEW, OLD]]);
    first.close();
    await home.append(NEW, ...attempted('US-001'));
    const second = await follow({ after: first.lastId() });
    expect(second.ids()).toEqual([[NEW]]);
    expect((await follow({ after: second.lastId() })).ids()).toEqual([[]]);
  });

  it('starts again after an id of another server or of another list', async () => {
    await home.addRun(succeeded(OLD));
    const [, scope, version] = (await follow()).lastId()!.split('.');
    expect((await follow({ after: `0123456789ab.${scope}.${version}` })).ids()).toEqual([[OLD]]);
    expect((await follow({ ended: 50, after: (await follow()).lastId() })).ids()).toEqual([[OLD]]);
  });

  it('has each phase of a run, and nothing for what its agent does', async () => {
    await home.addRun([created(NEW, 1), { type: 'run.started' }, ...attempted('US-001')]);
    const stream = await follow();
    const activity = { kind: 'say', text: 'Looking at the tests first.' } as const;
    await home.append(NEW, { type: 'agent.activity', story: 'US-001', attempt: 1, activity });
    // Someone who follows later gets what the agent did, so that it was read.
    const later = await follow();
    await advanceUntil(async () => expect((await follow()).frames()[0]?.runs[0]?.seq).toBeGreaterThan(0));
    await home.append(NEW, { type: 'phase.started', story: 'US-001', attempt: 1, phase: 'land' });
    for (const { frames } of [stream, later])
      await advanceUntil(() =>
        expect(frames().map(({ runs }) => runs.map(({ stories }) => stories[0]?.phase))).toEqual([['gates'], ['land']]),
      );
  });

  it('has what happens to a run after its end', async () => {
    await home.addRun(succeeded(OLD));
    const stream = await follow();
    await home.append(OLD, {
      type: 'run.landed',
      branch: 'main',
      from: 'a'.repeat(40),
      to: 'b'.repeat(40),
      by: 'tess',
    });
    await advanceUntil(() => expect(stream.frames().at(-1)?.runs[0]?.landed).toMatchObject({ branch: 'main' }));
    expect(stream.ids()).toEqual([[OLD], [OLD]]);
  });

  it('has an older run as soon as it belongs to the newest ended ones, also after a reconnect', async () => {
    await home.addRun(succeeded(OLD));
    await home.addRun([created(NEW, 1), { type: 'run.started' }, ...failed('US-001'), END]);
    // The older run is known to the server, because another one follows it.
    const other = await follow();
    expect(other.ids()).toEqual([[NEW, OLD]]);
    const [live, broken] = [await follow({ ended: 1 }), await follow({ ended: 1 })];
    expect(live.ids()).toEqual([[NEW]]);
    broken.close();
    await home.operations.retry({ runId: NEW, story: 'US-001' });
    await advanceUntil(() => expect(live.ids().slice(1).flat()).toEqual(expect.arrayContaining([OLD, NEW])));
    expect((await follow({ ended: 1, after: broken.lastId() })).ids()[0]?.sort()).toEqual([OLD, NEW]);
  });

  it('has only the runs of the repositories of a person, now and later', async () => {
    const inRepository = (runId: string, source: string) =>
      home.addRun([
        { ...created(runId, 1), repo: { ...created().repo, source } },
        { type: 'run.started' },
        ...asked('US-001'),
      ]);
    await inRepository(OLD, '/src/shop');
    await inRepository('0tbq1ccccccccccc', '/src/bank');
    const [ada, bob] = [await tokenOf('ada', ['/src/shop']), await tokenOf('bob', ['/src/*'])];
    const [limited, all] = [await follow({ token: ada }), await follow({ token: bob })];
    expect(limited.ids()).toEqual([[OLD]]);
    expect(all.ids()[0]).toHaveLength(2);
    await inRepository(NEW, '/src/bank');
    await inRepository('0tbq3ddddddddddd', '/src/shop');
    await advanceUntil(() => expect(all.ids().flat()).toEqual(expect.arrayContaining([NEW, '0tbq3ddddddddddd'])));
    await advanceUntil(() => expect(limited.ids().flat()).toContain('0tbq3ddddddddddd'));
    expect(limited.ids().flat()).not.toContain(NEW);
    // The id of someone who sees more does not continue there.
    expect((await follow({ token: ada, after: all.lastId() })).ids()[0]?.sort()).toEqual([OLD, '0tbq3ddddddddddd']);
  });
});
