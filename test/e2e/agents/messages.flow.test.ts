import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { modelAt, openModelHalo, replaying, treeOf, type ModelHalo } from '../../support/halo/model-halo.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import type { Turn } from '../../support/model/model-server.ts';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-test-messages-6d2f');
});
afterAll(() => halo.close());

const OK: Turn = { json: { status: 'ok', summary: 'Added the greeting.' } };
const MESSAGE = 'Greet in Italian.';

/** Runs a story whose agent gets the message once it takes messages; then its held commands are released. */
async function tellDuring(turns: Turn[], settings: string[]) {
  const server = await halo.serve(turns);
  const repository = halo.newRepository();
  const runId = await halo.submit(repository.root, [{ id: 'hello' }], modelAt(server.url, settings));
  const { operations } = halo;
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true }))
    if (event.type === 'agent.listens') break;
  const { route } = await operations.tell({ runId, story: 'hello', text: MESSAGE });
  let state: RunState | undefined;
  const ending = halo.untilEnd(runId).then((ended) => (state = ended));
  await releaseUntil(
    () => [runId],
    () => expect(state).toBeDefined(),
  );
  await ending;
  const show = (path: string) => repository.git('show', `halo/${runId}:${path}`);
  return { state: state!, route, server, repository, show };
}

describe('a message to an agent that works', () => {
  it('changes what Codex does in the turn that runs, also in a replay', async () => {
    const codex = ['agent=codex', 'agents.codex.live=true'];
    const { state, route, server, repository, show } = await tellDuring(
      // It looks around until it has the message.
      [{ run: 'sleep 0.5; ls', until: MESSAGE }, { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] }, OK],
      [...codex, 'model.mode=record'],
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
    await server.close();

    const again = halo.newRepository();
    const replayed = await halo.run(again.root, [{ id: 'hello' }], replaying(halo.keepCassette(state), codex));
    expect(replayed).toMatchObject({ stopReason: 'SUCCESS', usage: { requests: state.usage.requests } });
    expect(treeOf(again, replayed)).toBe(treeOf(repository, state));
  });

  // Gemini CLI takes long to start.
  it(
    'has a turn of its own with an agent of the Agent Client Protocol that a second prompt would stop',
    skipFor(belowFull()),
    async () => {
      const gemini = [
        'GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_SYSTEM_SETTINGS_PATH=/opt/halo/agents/gemini/settings.json',
        '/opt/halo/agents/node/bin/node /opt/halo/agents/gemini/bundle/gemini.js --acp -m "$HALO_MODEL"',
      ].join(' ');
      const { state, route, server, show } = await tellDuring(
        [{ run: HOLD }, OK, { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] }, OK],
        ['agent=by-acp', `agents.by-acp.acp=${JSON.stringify(gemini)}`, 'agents.by-acp.model="google"'],
      );
      expect(route).toBe('after');
      expect(state).toMatchObject({
        stopReason: 'SUCCESS',
        stories: [{ attempts: 1, messages: [{ text: MESSAGE, shown: { attempt: 1, how: 'live' } }] }],
      });
      expect(show('greeting.txt')).toBe('ciao');
      expect(server.remaining()).toBe(0);
    },
  );
});
