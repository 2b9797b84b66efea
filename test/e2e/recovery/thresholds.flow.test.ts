import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-ant-test-thresholds');
});
afterAll(() => halo.close());

/** One threshold at a time: each failure leaves a changed file, unless the script does not. */
function run(agent: string, gates: string[], more: string[]): Promise<RunState> {
  const patient = ['retry.attempts=9', 'retry.policy.retries=9', 'breaker.no_change=0', 'breaker.same_error=0'];
  const settings = [...scripted(agent, gates), ...patient, 'breaker.output_decline=0', ...more];
  return halo.run(halo.newRepository().root, [{ id: 'hello' }], settings);
}

describe('the breaker of a run opens, though attempts are left,', skipFor(belowFull()), () => {
  it('the breaker of a run opens after failures that differ only in numbers', async () => {
    const agent = `date +%s%N > x; echo "{\\"status\\":\\"failed\\",\\"summary\\":\\"port $(date +%N) is taken\\"}"`;
    const state = await run(agent, ['true'], ['breaker.same_error=3']);
    expect(state).toMatchObject({ stopReason: 'CIRCUIT_OPEN', stories: [{ attempts: 3 }] });
    expect(state.detail).toBe('the same failure 3 times in a row: ENGINE_ERROR: the agent gave up: port … is taken');
  });

  it('the breaker of a run opens after an attempt with much less output than the one before', async () => {
    const agent = `date +%s%N > x; grep -q GATE_FAILED || seq 5000; ${OK}`;
    const state = await run(agent, ['false'], ['breaker.output_decline=70']);
    expect(state).toMatchObject({ stopReason: 'CIRCUIT_OPEN', stories: [{ attempts: 2 }] });
    expect(state.detail).toMatch(/^the agent said 99 % less than in the attempt before; hello: gate exited 1/);
  });

  it('the breaker of a run opens after failures in which only tests were changed, if this is configured', async () => {
    const agent = `mkdir -p tests; date +%s%N > tests/x.test.js; ${OK}`;
    const state = await run(agent, ['false'], ['breaker.test_only=3']);
    expect(state).toMatchObject({ stopReason: 'CIRCUIT_OPEN', stories: [{ attempts: 3 }] });
    expect(state.detail).toMatch(/^only tests were changed 3 times in a row; hello: gate exited 1/);
    const code = `date +%s%N > app.js; ${agent}`;
    expect(await run(code, ['false'], ['breaker.test_only=3', 'retry.attempts=4'])).toMatchObject({
      stopReason: 'ATTEMPTS_EXHAUSTED',
    });
  });

  it('the breaker of a run opens after failures with denied permissions', async () => {
    const state = await run(`ln -s /etc/passwd leak-$(date +%N); ${OK}`, ['true'], []);
    expect(state).toMatchObject({ stopReason: 'CIRCUIT_OPEN', stories: [{ attempts: 2 }] });
    expect(state.detail).toMatch(/^2 refusals in a row, the last one: POLICY_VIOLATION: "leak-…" is refused/);
  });
});

describe('a permission that Claude Code was denied', skipFor(belowFull()), () => {
  const forbidden: Turn = { run: 'rm -rf /' };
  const claude = ['agent=claude', 'retry.attempts=9', 'retry.policy.retries=9'];
  const rule = 'Dangerous rm operation on critical path: /';

  it('is the reason for giving up: there is no other attempt, and the log and the end name it', async () => {
    const gaveUp: Turn = { json: { status: 'failed', summary: 'I cannot.' } };
    const { state, read } = await halo.implement([forbidden, gaveUp], claude);
    expect(state).toMatchObject({
      stopReason: 'ENGINE_ERROR',
      stories: [{ attempts: 1, failures: { policy: 1 }, lastFailure: { class: 'policy', rule: 'halt' } }],
    });
    expect(state.detail).toContain('I cannot.');
    expect(state.detail).toContain(`Its own rules did not permit it: Bash: ${rule}`);
    expect(read('agent.log')).toContain(`warning: permission denied: Bash: ${rule}`);
  });

  it('counts also if the attempt fails for another reason', async () => {
    const attempt: Turn[] = [
      forbidden,
      { write: 'greeting.txt', content: 'hello\n' },
      { json: { status: 'ok', summary: 'Done.' } },
    ];
    const { state } = await halo.implement([...attempt, ...attempt, ...attempt], [...claude, 'gates=["false"]']);
    expect(state).toMatchObject({ stopReason: 'CIRCUIT_OPEN', stories: [{ attempts: 2, failures: { gate: 2 } }] });
    expect(state.detail).toMatch(/^2 refusals in a row, the last one: GATE_FAILED: .*gate exited/);
  });

  it('is not the reason for giving up if the agent continued afterwards', async () => {
    const gaveUp: Turn = { json: { status: 'failed', summary: 'It does not build.' } };
    const { state } = await halo.implement([forbidden, { run: 'false' }, gaveUp], [...claude, 'retry.attempts=1']);
    expect(state.stories[0]).toMatchObject({ failures: { story: 1 }, lastFailure: { class: 'story' } });
    expect(state.detail).not.toContain('did not permit');
  });

  it('has no effect if the story lands', async () => {
    const turns: Turn[] = [
      forbidden,
      { write: 'greeting.txt', content: 'hello\n' },
      { json: { status: 'ok', summary: 'Done.' } },
    ];
    expect((await halo.implement(turns, claude)).state).toMatchObject({ stopReason: 'SUCCESS' });
  });
});
