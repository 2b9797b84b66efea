import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

const FIVE_HOURS_S = 18_000;

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-usage-limit-test-77c1');
});
afterAll(() => halo.close());

describe('a provider’s limit of hours', () => {
  it.each(
    casesAtLevel<[agent: string, answer: Partial<Turn & { fail: number }>]>(
      [
        ['codex', { headers: { 'retry-after': String(FIVE_HOURS_S) } }],
        ['claude', { headers: { 'retry-after': String(FIVE_HOURS_S) } }],
      ],
      [
        ['codex', { body: { error: { type: 'usage_limit_reached', message: 'x', resets_in_seconds: FIVE_HOURS_S } } }],
        ['opencode', { headers: { 'retry-after': String(FIVE_HOURS_S) } }],
        ['gemini', { body: { error: { code: 429, message: 'x', details: [{ retryDelay: `${FIVE_HOURS_S}s` }] } } }],
      ],
    ),
  )('ends %s immediately, after one request, and its story waits until the limit is reset', async (agent, answer) => {
    const server = await halo.serve([{ fail: 429, ...answer }]);
    const settings = modelAt(server.url, [`agent=${agent}`]);
    const runId = await halo.submit(halo.newRepository().root, [{ id: 'hello' }], settings);
    const story = await vi.waitFor(async () => {
      const { state } = await halo.operations.getRun({ runId });
      expect(state.status).toBe('running');
      expect(state.stories[0]?.waiting).toBeDefined();
      return state.stories[0]!;
    }, PATIENCE);
    expect(story).toMatchObject({ progress: 'in_progress', attempts: 1 });
    expect(story).not.toHaveProperty('failures');
    const left = Date.parse(story.waiting!.notBefore) - Date.now();
    expect(Math.abs(left - FIVE_HOURS_S * 1_000)).toBeLessThan(120_000);
    expect(server.requests).toHaveLength(1);
    await halo.operations.cancel({ runId });
    await halo.untilEnd(runId);
  });
});
