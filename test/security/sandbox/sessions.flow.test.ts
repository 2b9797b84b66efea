import { describe, expect } from 'vitest';
import { SESSION_AGENT, sessionAgent } from '../../support/agents/session-agent.ts';
import { it } from '../../support/fixtures.ts';
import { scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { casesAtLevel } from '../../support/suite/level.ts';

/** What an agent can do with the session that further attempts at its story continue. */

const PLANT =
  'ls -A /halo/session > look.txt; echo planted > /halo/session/planted; ln -s /etc/passwd /halo/session/link; echo "$?" > done.txt; date +%N >> done.txt';

/** Settings of runs whose agent is `one`. */
const settingsOf = (agents: string[], gates: string[], more: string[] = []) => [
  ...scripted('', gates).filter((setting) => !/^agent/.test(setting)),
  'agent=one',
  ...agents,
  ...more,
];

describe('incident session-data: an agent writes into the session that its story keeps', () => {
  it('neither the gates nor another story can see it', async ({ halo }) => {
    const repository = newRepository(SESSION_AGENT);
    const gates = ['test ! -e /halo/session && ! grep planted look.txt'];
    const settings = settingsOf(sessionAgent('one', PLANT), gates);
    const state = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    for (const { commit } of state.stories) expect(repository.git('show', `${commit}:done.txt`)).toMatch(/^0\n/);
  });

  it('a session larger than its limit ends the attempt', async ({ halo }) => {
    const fill = sessionAgent('one', 'head -c 400M /dev/zero > /halo/session/big; sleep 30');
    const state = await halo.run(newRepository(SESSION_AGENT).root, [{ id: 'A' }], settingsOf(fill, []));
    expect(state.stories[0]).toMatchObject({ progress: 'failed' });
    expect(JSON.stringify(halo.journal(state.runId))).toMatch(/disk|space/i);
  });

  const TWICE = ['retry.attempts=2', 'retry.gate.backoff="10ms"'];
  const AGAIN = ['grep again opened.txt'];

  it('another agent of the same story cannot see it', async ({ halo }) => {
    const script = 'ls /halo/session > look.txt; touch /halo/session/planted';
    const agents = [...sessionAgent('one', script), ...sessionAgent('two', script)];
    const settings = settingsOf(agents, AGAIN, ['route=[{ attempt = 2, agent = "two" }]', ...TWICE]);
    const repository = newRepository(SESSION_AGENT);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    expect(repository.git('show', `halo/${state.runId}:opened.txt`)).toBe('new, again');
    expect(repository.git('show', `halo/${state.runId}:look.txt`)).not.toContain('planted');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('new session: the last one is of another agent');
  });

  const lean = [['a forged id', 'echo forged > /halo/session/acp-session; rm -f $HOME/.codex/sessions/kept']] as const;
  const rest = [
    ['a link', 'ln -sf /etc/passwd /halo/session/acp-session'],
    ['a huge file', 'head -c 1M /dev/zero > /halo/session/acp-session'],
  ] as const;
  it.for(casesAtLevel<readonly [string, string]>(lean, rest))(
    'an attempt that cannot continue it begins again once, with a new one, and is not used up: %s',
    async ([, plant], { halo }) => {
      const settings = settingsOf(sessionAgent('one', plant), AGAIN, TWICE);
      const repository = newRepository(SESSION_AGENT);
      const state = await halo.run(repository.root, [{ id: 'A' }], settings);
      expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
      expect(repository.git('show', `halo/${state.runId}:opened.txt`)).toBe('new, again');
      const lost = halo.journal(state.runId).filter(({ type }) => type === 'story.postponed');
      expect(lost).toMatchObject([{ by: 'session', attempt: 2 }]);
      expect(halo.readFile(state.runId, 'agent.log')).toContain('The agent could not continue its session');
    },
  );
});
