import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import Docker from 'dockerode';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

const KEY = 'sk-ant-test-session-71';
const OK = { json: { status: 'ok', summary: 'Wrote the file.' } };
const write = (content: string): Turn => ({
  call: 'Write',
  args: { file_path: '/workspace/greeting.txt', content },
});
/** The gate refuses what the first attempt wrote. */
const TURNS: Turn[] = [{ saying: 'I remember the number 4711.', ...write('first\n') }, OK, write('second\n'), OK];
const SETTINGS = [
  'agent=claude',
  'gates=["grep second greeting.txt"]',
  'retry.attempts=2',
  'retry.gate.backoff="10ms"',
];

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo(KEY);
});
afterAll(() => halo.close());

async function sessionVolumes(runId: string): Promise<string[]> {
  const { Volumes } = await new Docker().listVolumes({ filters: JSON.stringify({ name: [`halo-session-${runId}`] }) });
  return (Volumes ?? []).map(({ Name }) => Name);
}

describe('the session of Claude Code', () => {
  it('is continued by the next attempt with session = "story", and removed when the story has ended', async () => {
    const { state, server } = await halo.implement(TURNS, [...SETTINGS, 'agents.claude.session="story"']);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 2 }] });
    const bodies = server.requests.map(({ body }) => body);
    // The conversation of the first attempt precedes the prompt of the second.
    expect(bodies[2]).toContain('I remember the number 4711.');
    await vi.waitFor(async () => expect(await sessionVolumes(state.runId)).toEqual([]), { ...PATIENCE, interval: 500 });
  });

  it('is a new one for each attempt by default, and after session_expiry', async () => {
    const expired = ['agents.claude.session="story"', 'agents.claude.session_expiry="1ms"'];
    for (const more of casesAtLevel([expired], [[]])) {
      const { state, server } = await halo.implement(TURNS, [...SETTINGS, ...more]);
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
    const settings = modelAt(server.url, [...SETTINGS, 'agents.claude.session="story"']);
    const { runId, stopReason } = await halo.run(repository.root, [{ id: 'hello' }], settings);
    expect(stopReason).toBe('NEEDS_HUMAN');
    await halo.operations.answer({ runId, story: 'hello', text: 'second' });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(server.requests[2]!.body).toContain('I remember the number 4711.');
  });
});
