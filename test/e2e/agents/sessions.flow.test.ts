import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import Docker from 'dockerode';
import { byAcp, GEMINI, OPENCODE } from '../../support/agents/acp-commands.ts';
import { SESSION_AGENT, sessionAgent } from '../../support/agents/session-agent.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Lane, Turn } from '../../support/model/model-server.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

const KEY = 'sk-ant-test-session-71';
const OK = { json: { status: 'ok', summary: 'Wrote the file.' } };
const write = (content: string): Turn => ({ write: 'greeting.txt', content });
/** The gate refuses what the first attempt wrote. */
const TURNS: Turn[] = [{ saying: 'I remember the number 4711.', ...write('first\n') }, OK, write('second\n'), OK];
/** opencode asks for a title, too. */
const SCRIPT: Lane[] = [
  { match: 'title generator', turns: [{ say: 'A greeting' }, { say: 'A greeting' }] },
  { turns: TURNS },
];
const TWICE = ['gates=["grep second greeting.txt"]', 'retry.attempts=2', 'retry.gate.backoff="10ms"'];

interface Case {
  name: string;
  settings: string[];
}

const CLAUDE = ['agent=claude', 'agents.claude.session="story"'];
const CODEX = ['agent=codex', 'agents.codex.session="story"'];
const keptByAcp = (...agent: Parameters<typeof byAcp>) => [...byAcp(...agent), 'agents.by-acp.session="story"'];
/** It names files by the minute, and does not find a session that began in the minute in which it is continued. */
const GEMINI_OF_2001 = `for file in ~/.gemini/tmp/*/chats/session-*; do [ ! -e "$file" ] || mv "$file" "$(echo "$file" | sed s/session-[0-9]*/session-2001/)"; done; ${GEMINI}`;

const AGENTS = casesAtLevel<Case>(
  [
    { name: 'Claude Code', settings: CLAUDE },
    { name: 'Codex', settings: CODEX },
  ],
  [
    { name: 'Codex, which reads messages', settings: [...CODEX, 'agents.codex.live=true'] },
    { name: 'opencode', settings: ['agent=opencode', 'agents.opencode.session="story"'] },
    { name: 'Gemini CLI, by ACP', settings: keptByAcp(GEMINI_OF_2001, 'google') },
    { name: 'opencode, by ACP', settings: keptByAcp(OPENCODE, 'anthropic') },
  ],
);

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo(KEY);
});
afterAll(() => halo.close());

async function sessionVolumes(runId: string): Promise<string[]> {
  const { Volumes } = await new Docker().listVolumes({ filters: JSON.stringify({ name: [`halo-session-${runId}`] }) });
  return (Volumes ?? []).map(({ Name }) => Name);
}

describe.each(AGENTS)('the session of $name', ({ settings }) => {
  it('is continued by the next attempt with session = "story", and removed when the story has ended', async () => {
    const { state, server } = await halo.implement(SCRIPT, [...TWICE, ...settings]);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 2 }] });
    // The conversation of the first attempt precedes the prompt of the second, which says why the first one failed.
    const [first, ...later] = server.requests.filter(({ body }) => body.includes('I remember the number 4711.'));
    expect(first?.body).not.toContain('GATE_FAILED');
    expect(later.filter(({ body }) => body.includes('GATE_FAILED'))).toHaveLength(2);
    await vi.waitFor(async () => expect(await sessionVolumes(state.runId)).toEqual([]), { ...PATIENCE, interval: 500 });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('continues its session');
    await expect(halo.operations.replay({ runId: state.runId, story: 'hello' })).rejects.toMatchObject({
      code: 'CASSETTE_MISSING',
      message: 'Attempt 2 at "hello" continued a session, so its cassette alone cannot replay it.',
    });
  });
});

describe('the session of an agent of ACP without a model', () => {
  it('is continued by the next attempt, and the log says so', async () => {
    const repository = halo.newRepository(SESSION_AGENT);
    const settings = ['agent=scripted', ...sessionAgent('scripted'), ...TWICE, 'gates=["grep again opened.txt"]'];
    const state = await halo.run(repository.root, [{ id: 'hello' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    expect(repository.git('show', `halo/${state.runId}:opened.txt`)).toBe('loaded session-1, again');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('continues its session');
  });
});

describe('a session', () => {
  it('is a new one for each attempt by default, and after session_expiry', async () => {
    const expired = ['agents.claude.session="story"', 'agents.claude.session_expiry="1ms"'];
    // With Claude Code; halo keeps the sessions of others in the same way.
    for (const more of casesAtLevel([expired], [[]])) {
      const { state, server } = await halo.implement(TURNS, [...TWICE, 'agent=claude', ...more]);
      expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
      expect(server.requests[2]!.body).not.toContain('I remember the number 4711.');
    }
  });
});

// The next attempt gets the volume of the session in the same way.
describe('the session of Claude Code, after an answer,', skipFor(belowFull()), () => {
  it('is continued after the answer to a question', async () => {
    const server = await halo.serve([
      { saying: 'I remember the number 4711.', run: 'true' },
      { json: { status: 'needs_human', summary: 'Which greeting?' } },
      write('second\n'),
      OK,
    ]);
    const repository = halo.newRepository();
    const settings = modelAt(server.url, [...TWICE, ...CLAUDE]);
    const { runId, stopReason } = await halo.run(repository.root, [{ id: 'hello' }], settings);
    expect(stopReason).toBe('NEEDS_HUMAN');
    await halo.operations.answer({ runId, story: 'hello', text: 'second' });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(server.requests[2]!.body).toContain('I remember the number 4711.');
  });
});
