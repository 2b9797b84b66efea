import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { modelAt, openModelHalo, replaying, treeOf, type ModelHalo } from '../../support/halo/model-halo.ts';
import { scripted } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';

const KEY = 'sk-ant-test-tell-52';
const OK = { json: { status: 'ok', summary: 'Added the greeting.' } };
const TEXT = 'Use "hola",\n```\nnot hello.';

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo(KEY);
});
afterAll(() => halo.close());

/** Waits until an event of this type is in the journal of a run. */
const until = (runId: string, type: string) =>
  vi.waitFor(() => expect(halo.journal(runId).some((event) => event.type === type)).toBe(true), PATIENCE);

const deliveries = (runId: string) =>
  halo.journal(runId).flatMap((event) => (event.type === 'message.delivered' ? [event] : []));

describe('a message to Claude Code', () => {
  it('reaches it while it works, within its turn, and a replay puts it there', async () => {
    const server = await halo.serve([
      { run: HOLD },
      { call: 'Write', args: { file_path: '/workspace/greeting.txt', content: 'hola\n' }, expect: ['not hello.'] },
      OK,
    ]);
    const repository = halo.newRepository();
    const settings = modelAt(server.url, ['agent=claude', 'model.mode=record']);
    const runId = await halo.submit(repository.root, [{ id: 'hello' }], settings);
    await until(runId, 'agent.activity');
    const sent = await halo.operations.tell({ runId, text: TEXT });
    expect(sent).toMatchObject({ changed: true, route: 'live', stories: ['hello'] });
    const ended = halo.untilEnd(runId);
    await releaseUntil(
      () => [runId],
      () => expect(deliveries(runId)).toHaveLength(1),
    );
    const state = await ended;
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    expect(deliveries(runId)).toMatchObject([{ how: 'live', ids: [sent.message], attempt: 1 }]);
    expect(server.requests.map(({ body }) => body.includes('not hello.'))).toEqual([false, true, true]);
    expect(halo.readFile(runId, 'artifacts/hello/1/prompt.md')).not.toContain('hola');
    const proof = JSON.parse(halo.readFile(runId, 'artifacts/hello/1/proof.json')) as { messages: unknown };
    const sha256 = createHash('sha256').update(TEXT).digest('hex');
    expect(proof.messages).toEqual([{ by: expect.any(String) as string, how: 'live', sha256 }]);
    await server.close();

    const cassettes = halo.keepCassette(state);
    const lines = readFileSync(join(cassettes, 'hello.jsonl'), 'utf8').trim().split('\n');
    const kept = lines.map((line) => JSON.parse(line) as { message?: unknown }).flatMap(({ message }) => message ?? []);
    expect(kept).toEqual([{ id: sent.message, by: expect.any(String) as string, text: TEXT, after: 1 }]);
    const again = halo.newRepository();
    const replay = await halo.submit(again.root, [{ id: 'hello' }], replaying(cassettes, ['agent=claude']));
    const replayEnd = halo.untilEnd(replay);
    await releaseUntil(
      () => [replay],
      () => expect(deliveries(replay)).toHaveLength(1),
    );
    const replayed = await replayEnd;
    expect(replayed).toMatchObject({ stopReason: 'SUCCESS' });
    expect(treeOf(again, replayed)).toBe(treeOf(repository, state));
    expect(() => halo.readFile(replay, 'artifacts/hello/1/divergence.txt')).toThrow('ENOENT');
  });
});

describe('a message to an agent that takes none while it works', () => {
  it('is in the next prompt, as data', async () => {
    const script = `cat > /tmp/prompt; if grep -q 'not hello' /tmp/prompt; then cp /tmp/prompt prompt.txt; else ${HOLD}; exit 3; fi
echo '{"status":"ok","summary":"x"}'`;
    const repository = halo.newRepository();
    const settings = [...scripted(script), 'retry.attempts=2', 'retry.agent.backoff="10ms"'];
    const runId = await halo.submit(repository.root, [{ id: 'hello' }], settings);
    await until(runId, 'agent.launched');
    const sent = await halo.operations.tell({ runId, story: 'hello', text: TEXT });
    expect(sent).toMatchObject({ changed: true, route: 'next' });
    const ended = halo.untilEnd(runId);
    await releaseUntil(
      () => [runId],
      () => expect(deliveries(runId)).toHaveLength(1),
    );
    expect(await ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    expect(deliveries(runId)).toMatchObject([{ how: 'prompt', ids: [sent.message], attempt: 2 }]);
    expect(repository.git('show', `halo/${runId}:prompt.txt`)).toMatch(
      / wrote:\n````\nUse "hola",\n```\nnot hello.\n````/,
    );
  });
});
