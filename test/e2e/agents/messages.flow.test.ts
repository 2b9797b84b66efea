import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byAcp, GEMINI } from '../../support/agents/acp-commands.ts';
import { openModelHalo, replaying, treeOf, type ModelHalo } from '../../support/halo/model-halo.ts';
import { HOLD } from '../../support/halo/hold.ts';
import { tellDuring } from '../../support/halo/tell-during.ts';
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

describe('a message to an agent that works', () => {
  it('changes what Codex does in the turn that runs, also in a replay', async () => {
    const codex = ['agent=codex', 'agents.codex.live=true'];
    const { state, route, server, repository, show } = await tellDuring(halo, MESSAGE, {
      // It looks around until it has the message.
      script: [
        { run: 'sleep 0.5; ls', until: MESSAGE },
        { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] },
        OK,
      ],
      settings: [...codex, 'model.mode=record'],
    });
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
      const { state, route, server, show } = await tellDuring(halo, MESSAGE, {
        script: [{ run: HOLD }, OK, { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] }, OK],
        settings: byAcp(GEMINI, 'google'),
      });
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
