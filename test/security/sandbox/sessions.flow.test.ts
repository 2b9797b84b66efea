import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SESSION_AGENT, sessionAgent } from '../../support/agents/session-agent.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';

/** What an agent can do with the session that further attempts at its story continue. */

const OK = { json: { status: 'ok', summary: 'Done.' } };
const PLANT = 'echo planted > /halo/session/planted; ln -s /etc/passwd /halo/session/link; echo "$?" > done.txt';
const LOOK = 'ls -A /halo/session /halo/session/* 2>&1 | sed s/planted/FOUND/ > look.txt; true';
const SETTINGS = ['agent=claude', 'agents.claude.session="story"', 'retry.attempts=2', 'retry.gate.backoff="10ms"'];

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-ant-test-session-73');
});
afterAll(() => halo.close());

describe('incident session-data: an agent writes into the session that its story keeps', () => {
  it('neither the gates nor another story can see it', async () => {
    const turns: Turn[] = [{ run: PLANT }, OK, { run: LOOK }, OK];
    const server = await halo.serve(turns);
    const repository = halo.newRepository();
    const gates = ['gates=["test ! -e /halo/session", "test ! -e look.txt || ! grep -q FOUND look.txt"]'];
    const state = await halo.run(
      repository.root,
      [{ id: 'A' }, { id: 'B' }],
      modelAt(server.url, [...SETTINGS, ...gates]),
    );
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('show', `halo/${state.runId}:done.txt`)).toBe('0');
    expect(repository.git('show', `halo/${state.runId}:look.txt`)).not.toContain('FOUND');
  });

  it('a session larger than its limit ends the attempt', async () => {
    const turns: Turn[] = [{ run: 'head -c 400M /dev/zero > /halo/session/big; sleep 30' }, OK];
    const server = await halo.serve(turns);
    const repository = halo.newRepository();
    const settings = modelAt(server.url, [...SETTINGS, 'retry.attempts=1']);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.stories[0]).toMatchObject({ progress: 'failed' });
    expect(JSON.stringify(halo.journal(state.runId))).toMatch(/disk|space/i);
  });

  const TWICE = ['retry.attempts=2', 'retry.gate.backoff="10ms"', 'gates=["grep again opened.txt"]'];

  it('another agent of the same story cannot see it', async () => {
    const script = 'ls /halo/session > look.txt; touch /halo/session/planted';
    const agents = [...sessionAgent('one', script), ...sessionAgent('two', script)];
    const settings = ['agent=one', ...agents, 'route=[{ attempt = 2, agent = "two" }]', ...TWICE];
    const repository = halo.newRepository(SESSION_AGENT);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    expect(repository.git('show', `halo/${state.runId}:opened.txt`)).toBe('new, again');
    expect(repository.git('show', `halo/${state.runId}:look.txt`)).not.toContain('planted');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('new session: the last one is of another agent');
  });

  it.each([
    ['a link', 'ln -sf /etc/passwd /halo/session/acp-session'],
    ['a forged id', 'echo forged > /halo/session/acp-session; rm -f $HOME/.codex/sessions/kept'],
    ['a huge file', 'head -c 1M /dev/zero > /halo/session/acp-session'],
  ])(
    'an attempt that cannot continue it begins again once, with a new one, and is not used up: %s',
    async (_what, plant) => {
      const settings = ['agent=one', ...sessionAgent('one', plant), ...TWICE];
      const repository = halo.newRepository(SESSION_AGENT);
      const state = await halo.run(repository.root, [{ id: 'A' }], settings);
      expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
      expect(repository.git('show', `halo/${state.runId}:opened.txt`)).toBe('new, again');
      const lost = halo.journal(state.runId).filter(({ type }) => type === 'story.postponed');
      expect(lost).toMatchObject([{ by: 'session', attempt: 2 }]);
      expect(halo.readFile(state.runId, 'agent.log')).toContain('The agent could not continue its session');
    },
  );
});
