import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
});
