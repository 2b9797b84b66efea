import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { openHalo, type TestHalo } from '../../support/halo/halo.ts';
import { askingAgent, complete, startChatProvider, type ChatProvider } from '../../support/model/chat-provider.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let model: ChatProvider;
beforeAll(async () => {
  process.env.HALO_TEST_KEY = 'sk-test-fallback';
  process.env.HALO_SECOND_KEY = 'sk-test-fallback-2';
  halo = await openHalo({ concurrency: 1 });
});
afterAll(async () => {
  delete process.env.HALO_TEST_KEY;
  delete process.env.HALO_SECOND_KEY;
  await halo.close();
});
afterEach(() => model.close());

const of = <T extends JournalEntry['type']>(events: readonly JournalEvent[], type: T) =>
  events.filter((event): event is JournalEvent & { type: T } => event.type === type);

/** A provider that asks for a pause of five hours for each of these models. */
const provider = (...paused: string[]) =>
  startChatProvider((res, _count, name) => {
    if (!paused.includes(name)) return complete(res);
    res.writeHead(429, { 'retry-after': '18000' });
    res.end('{"error":{"message":"You have reached your usage limit."}}');
  });

describe('a fallback model', () => {
  it('lands a story during a long pause of the first model, and the journal says which and why', async () => {
    model = await provider('m', 'n');
    const repository = newRepository();
    const keys = 'model.keys=[{ key_env = "HALO_SECOND_KEY" }]';
    const priced = ['prices.m={input=1,output=1}', 'prices.n={input=1,output=1}', 'prices.o={input=1,output=1}'];
    const settings = [...askingAgent(model.url, 1), keys, 'model.fallback=["n", "o"]', ...priced, 'budget.run_usd=1'];
    const state = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [
        { progress: 'passed', attempts: 1, fallback: { model: 'o' } },
        { progress: 'passed', attempts: 1, fallback: { model: 'o' } },
      ],
    });
    for (const story of state.stories) expect(story).not.toHaveProperty('failures');
    // Both keys of a model are tried before the next one, and no attempt tries them again.
    expect(model.models).toEqual(['m', 'm', 'n', 'n', 'o', 'o']);
    const events = halo.journal(state.runId);
    expect(of(events, 'story.postponed').map(({ why }) => why)).toEqual([
      expect.stringContaining('The attempt begins again with the model "n".'),
      expect.stringContaining('The attempt begins again with the model "o".'),
    ]);
    const started = of(events, 'story.started').map(({ story, fallback }) => [story, fallback?.model]);
    expect(started).toEqual([
      ['A', undefined],
      ['A', 'n'],
      ['A', 'o'],
      ['B', 'o'],
    ]);
    expect(of(events, 'key.paused').map(({ model: name, key, of: count }) => `${name} ${key}/${count}`)).toEqual([
      'm 1/2',
      'm 2/2',
      'n 1/2',
      'n 2/2',
    ]);
    expect(of(events, 'agent.launched').map(({ model: name }) => name)).toEqual(['m', 'n', 'o', 'o']);
    expect(
      of(events, 'model.used')
        .filter(({ usage }) => usage.inputTokens > 0)
        .map(({ model: name }) => name),
    ).toEqual(['o', 'o']);
    expect(halo.readFile(state.runId, 'agent.log')).toMatch(
      /attempt 1, on [0-9a-f]{7}, with the model o: The model provider allows no request to the model "m" yet/,
    );
    expect(repository.git('log', '-1', '--format=%B%n%N', '--notes=halo', `halo/${state.runId}`)).toMatch(
      /Halo-Agent: command o[^]*"model": ?"o"/,
    );
    expect(halo.readFile(state.runId, 'journal.jsonl')).not.toContain('sk-test-fallback');
  });

  // The choice is in test/worker/run/advance-run.flow.test.ts.
  it('waits for the pause that ends first if all models have one', skipFor(belowFull()), async () => {
    model = await startChatProvider((res, count, name) => {
      if (count > 2) return complete(res);
      res.writeHead(429, { 'retry-after': name === 'm' ? '18000' : '6' });
      res.end('{}');
    });
    const settings = [...askingAgent(model.url, 1), 'limits.idle="10s"', 'model.fallback=["n"]'];
    const state = await halo.run(newRepository().root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1, fallback: { model: 'n' } }] });
    expect(model.models).toEqual(['m', 'n', 'n']);
    expect(model.times[2]! - model.times[1]!).toBeGreaterThanOrEqual(5_950);
  });
});
