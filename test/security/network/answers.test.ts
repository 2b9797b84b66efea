import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Usage } from '../../../src/core/agent.ts';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createUsageReader } from '../../../src/gateway/usage/token-meter.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Servers that answer anything: a provider, or a host that the file of a repository names. */

let folder: string;
let answer: (res: ServerResponse) => void;
const server = createServer((req, res) => void req.resume().on('end', () => answer(res)));
let port = 0;
beforeAll(async () => {
  folder = tempDir('halo-answers');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const settled: { usage: Usage; told: string }[] = [];
let socketPath: string;
const open = () =>
  startGateway({
    socketPath: (socketPath = join(folder, `${settled.length}.sock`)),
    allow: [`127.0.0.1:${port}`],
    registries: [{ name: 'npm', upstream: `http://127.0.0.1:${port}`, hosts: [], named: true }],
    model: {
      ...{ mode: 'live', api: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, providerKeys: ['sk-1234567890'] },
      ...{ gatewayToken: 't', models: ['m'], cassette: '' },
      budget: {
        longestPauseMs: Infinity,
        pauseKey: () => Promise.resolve(),
        reserve: ({ outputTokens }) => {
          const settle = (usage: Usage, told: string) => {
            settled.push({ usage, told });
            return Promise.resolve({ usage });
          };
          return Promise.resolve({ kind: 'granted', reservation: { outputTokens, key: 0, settle } });
        },
      },
    },
  });

function ask(path: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json', host: 'x' };
    const options = { socketPath, path, headers };
    const req = request({ ...options, method: body === undefined ? 'GET' : 'POST' }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode ?? 0));
    });
    req.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('incident strange-answer: a server with an invalid response', () => {
  it.each([
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['a status below all', 'HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n'],
    ['a status above all', 'HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n'],
  ])('is reported as a failure, and blocks neither the sandbox nor the worker: %s', async (_what, bytes) => {
    answer = (res) => res.socket?.end(bytes);
    const gateway = await open();
    expect(await ask(`http://127.0.0.1:${port}/x`)).toBe(502);
    expect(await ask('/a/-/a-1.0.0.tgz')).toBe(502);
    const chat = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] };
    expect(await ask('/v1/chat/completions', chat)).toBe(502);
    // What it may have cost counts.
    expect(settled.at(-1)?.told).toBe('part');
    await gateway.close();
  });
});

describe('incident untold-usage: a provider with invalid token counts', () => {
  const chat = (usage: object) => createUsageReader('chat').document({ usage });
  it.each([
    ['strings', chat({ prompt_tokens: '700', completion_tokens: '900' })],
    ['less than nothing', chat({ prompt_tokens: -7, completion_tokens: -9 })],
    ['parts', chat({ prompt_tokens: 1.5, completion_tokens: 2 })],
    ['more than there can be', chat({ prompt_tokens: 1e300, completion_tokens: 2 ** 53 - 1 })],
    ['null', chat({ prompt_tokens: null, completion_tokens: null })],
    ['missing', chat({})],
    ['missing for the answer', chat({ prompt_tokens: 3 })],
    ['responses', createUsageReader('responses').document({ usage: { input_tokens: '5', output_tokens: 1 } })],
    ['messages', createUsageReader('messages').document({ usage: { input_tokens: -5, output_tokens: 1 } })],
    ['messages, empty', createUsageReader('messages').document({ usage: {} })],
    [
      'messages, iterations',
      createUsageReader('messages').document({ usage: { input_tokens: 5, output_tokens: 7, iterations: [{}] } }),
    ],
    [
      'gemini',
      createUsageReader('gemini').document({
        candidates: [{ finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: '9' },
      }),
    ],
    [
      'gemini, empty',
      createUsageReader('gemini').document({ candidates: [{ finishReason: 'STOP' }], usageMetadata: {} }),
    ],
  ])('reports unknown usage, so that the reservation is charged: %s', (_what, told) => {
    expect(told?.last ?? false).toBe(false);
    for (const value of Object.values(told?.usage ?? {})) expect(value).toBeGreaterThanOrEqual(0);
  });

  it('reports known usage with or without counts of a cache or of thoughts', () => {
    expect(chat({ prompt_tokens: 7, completion_tokens: 0 })).toMatchObject({ last: true });
    const gemini = { candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 5 } };
    expect(createUsageReader('gemini').document(gemini)).toMatchObject({ last: true, usage: { outputTokens: 0 } });
  });
});
