import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { reviewRun } from '../../../src/core/review/review.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';

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
  ...modelAt(url, providers(url)).filter((each) => !/^model\.(base_url|key_env)=/.test(each)),
  ...more,
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
    const proofs = [2, 1, 0].map((back) => {
      const note = repository.git('notes', '--ref=halo', 'show', `halo/${state.runId}~${back}`);
      return (JSON.parse(note) as { start?: string[] }).start;
    });
    expect(proofs).toEqual([
      undefined,
      ['with claude, claude-haiku-5-5, effort low (its fields in the PRD)'],
      ['with gemini (route 1)'],
    ]);
    const costs = events.flatMap((event) => (event.type === 'model.used' ? [[event.model, event.usage.costUsd]] : []));
    for (const [, cost] of costs) expect(cost).toBeGreaterThan(0);
  });
});

describe('a story whose provider fails', () => {
  it.each(
    casesAtLevel<[what: string, failing: Turn[], why: RegExp]>(
      [
        [
          'has no quota',
          [{ fail: 429, headers: { 'retry-after': '18000' }, body: { error: { message: 'Usage limit reached.' } } }],
          /allows no request to the model .* begins again with the agent "claude"\.$/,
        ],
      ],
      [
        [
          'refuses the key',
          Array.from({ length: 10 }, (): Turn => ({ fail: 401 })),
          /refused the key .*the agent "claude"\.$/,
        ],
        [
          'breaks off its answers (hazard 83)',
          Array.from({ length: 30 }, (): Turn => ({ cut: 'middle' })),
          / broke off a response.* the agent "claude"\.$/,
        ],
        ['is down', Array.from({ length: 30 }, (): Turn => ({ fail: 503 })), /the agent "claude"\.$/],
      ],
    ),
  )(
    'moves to another agent and provider without using the attempt up: its provider %s',
    async (_what, failing, why) => {
      const first = await halo.serve(failing);
      const second = await halo.serve([{ write: 'S1.txt', content: 'S1\n' }, OK]);
      const more = ['agent=codex', 'fallback=["claude"]', `providers.openai.base_url=${first.url}`];
      const repository = halo.newRepository();
      const state = await halo.run(repository.root, [{ id: 'S1' }], settings(second.url, more));
      expect(state).toMatchObject({
        stopReason: 'SUCCESS',
        stories: [{ attempts: 1, progress: 'passed', fallback: { agent: 'claude', model: 'claude-sonnet-5-5' } }],
      });
      expect(state.stories[0]).not.toHaveProperty('failures');
      const events = halo.journal(state.runId);
      expect(launched(events)).toEqual(['S1 codex gpt-5.5', 'S1 claude claude-sonnet-5-5']);
      expect(reviewRun(events)?.stories[0]).toMatchObject({ agent: 'claude', model: 'claude-sonnet-5-5' });
      const postponed = events.flatMap((event) => (event.type === 'story.postponed' ? [event.why] : []));
      expect(postponed).toEqual([expect.stringMatching(why)]);
      expect(repository.git('log', '-1', '--format=%B', `halo/${state.runId}`)).toContain(
        'Halo-Agent: claude claude-sonnet-5-5',
      );
      expect(halo.readFile(state.runId, 'agent.log')).toMatch(
        /attempt 1, on [0-9a-f]{7}, with claude, claude-sonnet-5-5: /,
      );
    },
  );
});
