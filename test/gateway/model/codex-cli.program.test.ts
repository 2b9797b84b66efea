import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codex } from '../../../src/agents/codex.ts';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import { readRun } from '../../agents/read-run.ts';
import { hasAgent, runAgent } from '../../agents/run-agent.ts';
import { gateway, listening, modelServer, OPENAI } from '../fixture.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = 'sk-canary-0123456789abcdef';

describe('the real Codex CLI behind the gateway', skipFor(!hasAgent('codex') && 'needs HALO_TEST_CODEX'), () => {
  it('repeats the same work from the cassette, without a provider', async () => {
    const dir = tempDir();
    const cassette = join(dir, 'story.jsonl');
    const provider = await modelServer([
      { run: 'date +%N' },
      { write: 'greeting.txt', content: 'hello\n' },
      { json: { status: 'ok', summary: 'Greets.' } },
    ]);
    const first = await run(join(dir, 'first'), {
      ...OPENAI,
      mode: 'record',
      baseUrl: provider.url,
      providerKeys: [KEY],
      cassette,
    });
    await provider.close();
    const again = await run(join(dir, 'again'), {
      ...OPENAI,
      mode: 'replay',
      baseUrl: provider.url,
      providerKeys: [],
      cassette,
    });
    for (const { outcome, usage, problem } of [first, again]) {
      expect(problem).toBeUndefined();
      expect(outcome).toEqual({ kind: 'answer', answer: { status: 'ok', summary: 'Greets.' } });
      expect(usage).toEqual({ requests: 3, inputTokens: 300, cachedTokens: 0, outputTokens: 30 });
    }
    expect(await readFile(join(dir, 'again', 'workspace', 'greeting.txt'), 'utf8')).toBe('hello\n');
    expect(await readFile(cassette, 'utf8')).not.toContain(KEY);
  });

  it('ends with one clear sentence if the cassette does not match', async () => {
    const dir = tempDir();
    const cassette = join(dir, 'story.jsonl');
    const provider = await modelServer([{ json: { status: 'ok', summary: 'Greets.' } }]);
    await run(join(dir, 'first'), { ...OPENAI, mode: 'record', baseUrl: provider.url, providerKeys: [KEY], cassette });
    const route: ModelRoute = { ...OPENAI, mode: 'replay', baseUrl: provider.url, providerKeys: [], cassette };
    const other = await run(join(dir, 'other'), route, 'house-model');
    expect(other.outcome).toEqual({ kind: 'error', error: `Codex failed: ${other.problem}` });
    expect(other.problem).toContain('asks for the model "house-model"');
  });
});

async function run(dir: string, route: ModelRoute, model = 'gpt-5.5') {
  const gate = await gateway({ model: route });
  const forwarder = createServer({ allowHalfOpen: true }, (socket) => {
    const inside = connect({ path: gate.socket, allowHalfOpen: true });
    socket.on('error', () => inside.destroy()).pipe(inside);
    inside.on('error', () => socket.destroy()).pipe(socket);
  });
  const ended = await runAgent('codex', dir, {
    api: 'openai',
    model,
    modelUrl: `http://${await listening(forwarder)}/v1`,
  });
  await gate.close();
  return { outcome: readRun(codex, ended).outcome, usage: gate.usage(), problem: gate.problem()?.sentence };
}
