import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';

const KEY = 'sk-choice-test-5a0c';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo(KEY);
});
afterAll(() => halo.close());

const OK: Turn = { json: { status: 'ok', summary: 'Wrote the file.' } };
const lane = (id: string) => ({
  match: `Write ${id}`,
  turns: [{ write: `${id}.txt`, content: `${id}\n` }, OK],
});
/** The same server stands for three providers. */
const providers = (url: string) =>
  ['openai', 'anthropic', 'google'].flatMap((api) => [
    `providers.${api}.base_url=${url}`,
    `providers.${api}.key_env=HALO_TEST_MODEL_KEY`,
  ]);
const settings = (url: string, more: string[]) => [
  ...modelAt(url, more).filter((each) => !/^model\.(base_url|key_env)=/.test(each)),
  ...providers(url),
];
const launched = (events: readonly JournalEvent[]) =>
  events.flatMap((event) =>
    event.type === 'agent.launched'
      ? [[event.story, event.agent, event.model, event.effort].filter(Boolean).join(' ')]
      : [],
  );

describe('a run whose stories choose', skipFor(belowFull()), () => {
  it('uses three agents, each with its own provider, key and price, and says so everywhere', async () => {
    const server = await halo.serve([lane('S3'), lane('S2'), lane('S1')]);
    const repository = halo.newRepository();
    const stories = [
      { id: 'S1', title: 'Write S1' },
      { id: 'S2', title: 'Write S2', agent: 'claude', model: 'claude-haiku-5-5', effort: 'low' },
      { id: 'S3', title: 'Write S3', labels: ['UI'] },
    ];
    const more = ['agent=codex', 'model.name=gpt-5.4', 'route=[{ label = "ui", agent = "gemini" }]'];
    const state = await halo.run(repository.root, stories, settings(server.url, more));
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [
        { attempts: 1 },
        { choice: { agent: 'claude', by: 'story' } },
        { choice: { agent: 'gemini', by: 'route', route: 1 } },
      ],
    });
    const events = halo.journal(state.runId);
    expect(launched(events)).toEqual([
      'S1 codex gpt-5.4',
      'S2 claude claude-haiku-5-5 low',
      'S3 gemini gemini-2.5-pro',
    ]);
    expect(halo.readFile(state.runId, 'agent.log')).toMatch(
      /attempt 1, on [0-9a-f]{7}, with claude, claude-haiku-5-5, effort low \(its fields in the PRD\)/,
    );
    const notes = repository.git('log', '--format=%(trailers:key=Halo-Agent)', `halo/${state.runId}`);
    expect(notes.match(/Halo-Agent: .*/g)).toEqual([
      'Halo-Agent: gemini gemini-2.5-pro',
      'Halo-Agent: claude claude-haiku-5-5',
      'Halo-Agent: codex gpt-5.4',
    ]);
    const costs = events.flatMap((event) => (event.type === 'model.used' ? [[event.model, event.usage.costUsd]] : []));
    for (const [, cost] of costs) expect(cost).toBeGreaterThan(0);
  });
});
