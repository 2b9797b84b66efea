import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-test-messages-6d2f');
});
afterAll(() => halo.close());

const OK: Turn = { json: { status: 'ok', summary: 'Added the greeting.' } };
const MESSAGE = 'Greet in Italian.';

/** Runs a story whose agent gets the message once it takes messages. */
async function tellDuring(turns: Turn[], settings: string[]) {
  const server = await halo.serve(turns);
  const repository = halo.newRepository();
  const runId = await halo.submit(repository.root, [{ id: 'hello' }], modelAt(server.url, settings));
  const { operations } = halo;
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true }))
    if (event.type === 'agent.listens') break;
  const { route } = await operations.tell({ runId, story: 'hello', text: MESSAGE });
  const state: RunState = await halo.untilEnd(runId);
  return { state, route, server, show: (path: string) => repository.git('show', `halo/${runId}:${path}`) };
}

describe('a message to an agent that works', () => {
  it('changes what Codex does in the turn that runs', async () => {
    const { state, route, server, show } = await tellDuring(
      // It looks around until it has the message.
      [{ run: 'sleep 0.1; ls', until: MESSAGE }, { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] }, OK],
      ['agent=codex', 'agents.codex.live=true'],
    );
    expect(route).toBe('live');
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [{ attempts: 1, messages: [{ text: MESSAGE, shown: { attempt: 1, how: 'live' } }] }],
    });
    expect(show('greeting.txt')).toBe('ciao');
    expect(server.remaining()).toBe(0);
    const log = halo.readFile(state.runId, 'events.jsonl');
    expect(log.match(/"turn\.completed"/g)).toHaveLength(1);
  });
});
