import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { verify } from '../../../src/features/evidence/api/verify-commit.ts';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import { modelAt } from '../../support/halo/model-halo.ts';
import { ADD_SUM, HONEST_TESTS, testsFirstAgent } from '../../support/halo/tests-first.ts';
import { startModelServer } from '../../support/model/model-server.ts';
import { PATIENCE } from '../../support/patience.ts';
import { ask, keyValueService } from './key-value-service.ts';

/** Succeeds on a service without data, and leaves some. */
const USE = `test "$(${ask('get')})" = nothing && ${ask('set used')}`;

beforeAll(() => void vi.stubEnv('HALO_TEST_MODEL_KEY', 'sk-test-5e1a'));
afterAll(() => void vi.unstubAllEnvs());

describe('services have no data of earlier commands', () => {
  test('when halo verify repeats the gates', async ({ halo, repository }) => {
    const settings = scripted(`date +%N > now.txt; ${OK}`, [USE, USE], keyValueService({ for: ['gates'] }));
    const { runId } = await halo.run(repository.root, [{ id: 'A' }], settings);
    const checks: [string, boolean | null][] = [];
    const { signal } = new AbortController();
    const query = { target: runId, folder: repository.root, signal };
    for await (const verified of verify(halo.host, query))
      checks.push(...verified.checks.map(({ what, ok }): [string, boolean | null] => [what, ok]));
    expect(checks).toContainEqual([expect.stringContaining('gate'), true]);
    expect(checks.filter(([, ok]) => ok === false)).toEqual([]);
  });

  test('when the agent is replayed', async ({ halo, repository }) => {
    const server = await startModelServer({
      turns: [
        { run: `${ask('get')}; ${ask('set agent')}; ${ask('get')}` },
        { write: 'greeting.txt', content: 'hello\n' },
        { json: { status: 'ok', summary: 'Did it.' } },
      ],
    });
    const settings = ['agent=codex', 'model.mode=record', 'gates=["true"]', ...keyValueService()];
    const { runId, stopReason } = await halo.run(repository.root, [{ id: 'A' }], modelAt(server.url, settings));
    await server.close();
    expect(stopReason).toBe('SUCCESS');
    const { checks, divergence } = await halo.operations.replay({ runId, story: 'A' });
    expect([divergence, checks.filter(({ ok }) => ok === false)]).toEqual([undefined, []]);
  });

  test('when the gates run on the merged work of two stories', async ({ halo, repository }) => {
    const script = `story=$(grep -oE 'Story [A-Z]' | head -n 1); ${HOLD}; date > "$story.txt"; ${OK}`;
    const settings = scripted(script, [USE], [...keyValueService({ for: ['gates'] }), 'run.parallel=2']);
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    const count = (type: string) => halo.journal(runId).filter((event) => event.type === type).length;
    await expect.poll(() => count('agent.launched'), PATIENCE).toBe(2);
    await release(runId);
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    // Of each story, and of the two together.
    expect([count('story.merged'), count('services.ready')]).toEqual([1, 3]);
  });

  test('when new tests must fail first, and when they must pass', async ({ halo, repository }) => {
    const settings = scripted(
      testsFirstAgent(HONEST_TESTS, ADD_SUM),
      [USE],
      [
        'tests.first=on',
        `tests.command=${JSON.stringify(`${USE} && node --test --test-reporter=tap {files}`)}`,
        ...keyValueService({ for: ['gates'] }),
      ],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { cases: ['adds'] } }] });
  });
});
