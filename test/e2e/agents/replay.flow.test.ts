import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { openHalo, type TestHalo } from '../../support/halo/halo.ts';
import { startModelServer, type Turn } from '../../support/model/model-server.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const GREET: Turn[] = [
  { run: 'date +%N; head -c 8 /dev/urandom | od -An -tx1' },
  { write: 'greeting.txt', content: 'hello\n' },
  { run: 'cat greeting.txt' },
  { json: { status: 'ok', summary: 'Added the greeting.' } },
];

let halo: TestHalo;

beforeAll(async () => {
  process.env.HALO_TEST_KEY = 'sk-test-77d0';
  halo = await openHalo();
});
afterAll(async () => {
  delete process.env.HALO_TEST_KEY;
  await halo.close();
});

/** Records a run; the provider is gone afterwards. */
async function record(agent: string, turns: Turn[], more: string[] = []): Promise<RunState> {
  const server = await startModelServer({ turns });
  const repository = newRepository({});
  const settings = [
    `agent=${agent}`,
    `model.base_url=${server.url}`,
    'model.key_env=HALO_TEST_KEY',
    'model.mode=record',
    'gates=["grep -q hello greeting.txt"]',
    'retry.attempts=1',
    'retry.backoff="10ms"',
    ...more,
  ];
  const state = await halo.run(repository.root, [{ id: 'hello' }], settings);
  await server.close();
  return state;
}

describe.each(casesAtLevel(['codex'], ['claude']))('an attempt of %s', (agent) => {
  it('ends with the same result, in the same image, and lands nothing; a replay that diverges reports where', async () => {
    const { runId, stories } = await record(agent, GREET);
    expect(stories[0]).toMatchObject({ progress: 'passed' });
    const before = readFileSync(join(halo.home, 'runs', runId, 'journal.jsonl'), 'utf8');
    const replayed = await halo.operations.replay({ runId, story: 'hello' });
    expect(replayed).toMatchObject({ story: 'hello', attempt: 1, image: expect.stringMatching(/^sha256:/) as string });
    expect(replayed.checks).toEqual([
      { what: 'ending', recorded: 'SUCCESS', found: 'SUCCESS', ok: true },
      { what: 'answer', recorded: 'Added the greeting.', found: 'Added the greeting.', ok: true },
      expect.objectContaining({ what: 'change', ok: true }),
    ]);
    // What the first command printed is another number each time.
    expect(replayed.divergence).toMatch(/^Request 2 differs from the recorded one, first at .*(output|content)/);
    expect(readFileSync(join(halo.home, 'runs', runId, 'journal.jsonl'), 'utf8')).toBe(before);

    const cassette = join(halo.home, 'runs', runId, 'artifacts/hello/1/cassette.jsonl');
    const lines = readFileSync(cassette, 'utf8').split('\n');
    writeFileSync(cassette, [lines[0], lines[1], lines[3], lines[4], ''].join('\n'));
    const diverged = await halo.operations.replay({ runId, story: 'hello' });
    expect(diverged.checks[0]).toEqual({ what: 'ending', recorded: 'SUCCESS', found: 'ENGINE_ERROR', ok: false });
    expect(diverged.divergence).toMatch(
      /^Replay: request 2 carries 1 tool results, but the cassette hello\.jsonl has 2 there; they differ first at /,
    );

    rmSync(cassette);
    await expect(halo.operations.replay({ runId, story: 'hello' })).rejects.toMatchObject({
      code: 'CASSETTE_MISSING',
      hint: expect.stringContaining('model.mode=record') as string,
    });
    for (const nothing of [{ story: 'other' }, { story: 'hello', attempt: 7 }])
      await expect(halo.operations.replay({ runId, ...nothing })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
  });
});

describe('an attempt that failed', skipFor(belowFull()), () => {
  it('fails again with the same result', async () => {
    const { runId, stopReason } = await record('codex', GREET, ['gates=["exit 3"]']);
    expect(stopReason).toBe('GATE_FAILED');
    const replayed = await halo.operations.replay({ runId, story: 'hello', attempt: 1 });
    expect(replayed.checks.map(({ what, found, ok }) => [what, found, ok])).toEqual([
      ['ending', 'GATE_FAILED', true],
      ['answer', expect.stringContaining('exit 3'), true],
      ['change', expect.stringMatching(/^[0-9a-f]{64}$/), true],
    ]);
  });
});
