import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { startWorker } from '../../../src/worker/main.ts';
import { OK, openHalo, prdOf, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { hostOf } from '../../support/halo/host.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { askingAgent, complete, startChatProvider, type ChatProvider } from '../../support/model/chat-provider.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';
import { enterPeriod, HOUR_MS } from '../../support/period.ts';

/** An agent without output for this time is stopped, so half of it is the longest pause that it waits for. On a busy machine it takes seconds to its first request. */
const IDLE = 'limits.idle="10m"';
/** The same for a rate, whose next hour may begin in a minute. */
const IDLE_OF_RATE = 'limits.idle="1m"';
/** The same for a test that waits until a pause is over. */
const SHORT_IDLE = 'limits.idle="11s"';
const SHORT_PAUSE_S = 6;
const FIVE_HOURS_S = 18_000;

let halo: TestHalo;
let model: ChatProvider;
beforeAll(async () => {
  process.env.HALO_TEST_KEY = 'sk-test-long-pause';
  halo = await openHalo({ concurrency: 1 });
});
afterAll(async () => {
  delete process.env.HALO_TEST_KEY;
  await halo.close();
});
afterEach(() => model.close());

/** The first requests are refused with a pause. */
const provider = ({ refused = 1, pauseS = FIVE_HOURS_S } = {}) =>
  startChatProvider((res, count) => {
    if (count > refused) return complete(res);
    res.writeHead(429, { 'retry-after': String(pauseS) });
    res.end('{"error":{"message":"You have reached your usage limit."}}');
  });

const typesOf = (events: readonly JournalEvent[], story: string) =>
  events.filter((event) => 'story' in event && event.story === story).map(({ type }) => type);

describe('a long pause of a model', () => {
  it('interrupts an attempt without using it up, frees the worker, and holds stories that would need the model', async () => {
    model = await provider();
    const settings = [...askingAgent(model.url, 1), IDLE, 'run.parallel=2'];
    const runId = await halo.submit(newRepository().root, [{ id: 'A' }, { id: 'B' }], settings);
    const waiting = await vi.waitFor(async () => {
      const { state } = await halo.operations.getRun({ runId });
      expect(state.stories.map((story) => story.waiting?.model)).toEqual(['m', 'm']);
      return state;
    }, PATIENCE);
    // The only worker is free for other runs.
    const other = await halo.run(newRepository().root, [{ id: 'C' }], scripted(`echo x > x; ${OK}`));
    expect(other.stopReason).toBe('SUCCESS');
    await halo.operations.retry({ runId });
    const state = await halo.untilEnd(runId);
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [
        { progress: 'passed', attempts: 1 },
        { progress: 'passed', attempts: 1 },
      ],
    });
    for (const story of state.stories) expect(story).not.toHaveProperty('failures');
    const events = halo.journal(runId);
    expect(events.map(({ type }) => type)).not.toContain('retry.scheduled');
    const held = events.find(({ type }) => type === 'story.postponed');
    expect(held).toMatchObject({ story: 'A', attempt: 1, model: 'm', by: 'provider' });
    expect(held).toMatchObject({ notBefore: waiting.stories[0]!.waiting!.notBefore });
    const again = events.findLast((event) => event.type === 'story.started' && event.story === 'A');
    const [began] = halo.journal(other.runId).filter(({ type }) => type === 'story.started');
    expect(Date.parse(began!.at)).toBeLessThan(Date.parse(again!.at));
    // The second story never got a sandbox during the pause.
    expect(
      typesOf(events, 'B')
        .filter((type) => type.startsWith('story.'))
        .slice(0, 2),
    ).toEqual(['story.postponed', 'story.started']);
    expect(halo.readFile(runId, 'agent.log')).toMatch(
      /waiting +4h 59m: The model provider allows no request to the model "m"/,
    );
  });

  it('ends the run if the attempt would wait for longer than retry.max_wait, and says so', async () => {
    model = await provider();
    const settings = [...askingAgent(model.url, 1), IDLE, 'retry.max_wait="1s"'];
    const state = await halo.run(newRepository().root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({
      stopReason: 'ENGINE_ERROR',
      stories: [{ progress: 'failed', lastFailure: { class: 'provider', rule: 'halt', cause: 'pause-too-long' } }],
    });
    expect(state.detail).toContain('An attempt waits at most 1s (retry.max_wait).');
    expect(model.times).toHaveLength(1);
  });

  it('lasts as long after a restart of worker and Redis, which comes back empty', async () => {
    model = await provider({ pauseS: SHORT_PAUSE_S });
    const home = tempDir('halo-pause');
    const socket = join(home, 'redis.sock');
    const startRedis = () =>
      spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', home, '--save', ''], { stdio: 'ignore' });
    const stopRedis = async (redis: ChildProcess) => {
      redis.kill('SIGKILL');
      await once(redis, 'exit');
    };
    const host = hostOf(home, `unix://${socket}`);
    const open = () =>
      vi.waitFor(() => startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) }), PATIENCE);
    let redis = startRedis();
    let worker = await open();
    const operations = openLocal({ host });
    const settings = [...askingAgent(model.url, 1), SHORT_IDLE];
    const request = { prd: prdOf([{ id: 'A' }]), repos: [newRepository().root], profile: undefined, set: settings };
    const [submitted] = (await operations.submit({ ...request, allowDirty: false })).runs;
    const { runId } = submitted!;
    for await (const {
      event: { type },
    } of await operations.followEvents({ runId, after: 0, follow: true }))
      if (type === 'story.postponed') break;
    await worker.close();
    await stopRedis(redis);
    redis = startRedis();
    worker = await open();
    for await (const {
      event: { type },
    } of await operations.followEvents({ runId, after: 0, follow: true }))
      if (type === 'run.ended') break;
    const { state } = await operations.getRun({ runId });
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 1 }] });
    const events = readJournal(home, runId);
    const held = events.find((event) => event.type === 'story.postponed');
    const again = events.findLast(({ type }) => type === 'story.started');
    expect(model.times[1]! - model.times[0]!).toBeGreaterThanOrEqual(SHORT_PAUSE_S * 1_000 - 50);
    expect(Date.parse(again!.at)).toBeGreaterThanOrEqual(Date.parse(held!.notBefore));
    await worker.close();
    await operations.close();
    await stopRedis(redis);
  });
});

describe('a rate per hour', () => {
  beforeEach(() => enterPeriod(HOUR_MS));

  it('lets the next story wait for the next hour', async () => {
    model = await provider({ refused: 0 });
    // Without IDLE_OF_RATE, the attempt itself would wait for an hour that begins in a few minutes.
    const settings = [...askingAgent(model.url, 2), IDLE_OF_RATE, 'rate.m={rph=3}'];
    const runId = await halo.submit(newRepository().root, [{ id: 'A' }, { id: 'B' }], settings);
    const waiting = await vi.waitFor(async () => {
      const { state } = await halo.operations.getRun({ runId });
      expect(state.stories[1]!.waiting?.model).toBe('m');
      return state.stories[1]!.waiting!;
    }, PATIENCE);
    expect(waiting.why).toContain('The configured rate per hour allows no request to the model "m" yet');
    // The answer of Redis is counted twice.
    expect(Date.parse(waiting.notBefore) % HOUR_MS).toBeLessThan(30_000);
    expect(model.times).toHaveLength(3);
    expect((await halo.operations.getRun({ runId })).state.stories[0]).toMatchObject({ progress: 'passed' });
    await halo.operations.cancel({ runId });
    expect((await halo.untilEnd(runId)).stopReason).toBe('USER_ABORT');
  });

  it('a rate that one attempt has used up alone ends the run, because waiting would repeat this', async () => {
    model = await provider({ refused: 0 });
    const settings = [...askingAgent(model.url, 3), 'rate.m={rph=2}'];
    const state = await halo.run(newRepository().root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({
      stopReason: 'BUDGET_EXCEEDED',
      stories: [{ attempts: 1, lastFailure: { limit: 'rate.m.rph' } }],
    });
    expect(state.detail).toContain(
      'has sent all 2 requests to the model "m" that its rate allows in an hour; raise rph of [rate."m"] and start a new run.',
    );
    expect(model.times).toHaveLength(2);
  });
});
