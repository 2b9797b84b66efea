import { describe, expect, it } from 'vitest';
import { filterBody } from '../../../src/gateway/model/read-model-request.ts';
import { findOperation, type ModelRequest } from '../../../src/gateway/model/model-route.ts';
import { createUsageReader } from '../../../src/gateway/usage/token-meter.ts';
import { estimateRequest, limitOutput } from '../../../src/gateway/usage/reserve-budget.ts';

const PATHS = {
  responses: ['openai', '/v1/responses'],
  chat: ['openai', '/v1/chat/completions'],
  messages: ['anthropic', '/v1/messages'],
  gemini: ['google', '/v1beta/models/m:generateContent'],
} as const;

/** A request as the gateway makes it of this body. */
function request(kind: keyof typeof PATHS, body: Record<string, unknown>): ModelRequest {
  const [api, url] = PATHS[kind];
  const operation = findOperation(api, 'POST', url)!;
  const checked = filterBody(operation.body, { model: 'm', ...body });
  if ('reason' in checked) throw new Error(checked.reason);
  return { operation, url, headers: {}, body: checked.body, model: typeof body.model === 'string' ? body.model : 'm' };
}

const DATA = 'A'.repeat(300_000);
const PNG = `data:image/png;base64,${DATA}`;
const ALL_THAT_CAN_BE_READ = 2_100_000;

/** One part in the words of each API, within a whole body. */
const WITH = {
  responses: (part: object) => ({ input: [{ role: 'user', content: [part] }] }),
  chat: (part: object) => ({ messages: [{ role: 'user', content: [part] }] }),
  messages: (part: object) => ({ max_tokens: 10, messages: [{ role: 'user', content: [part] }] }),
  gemini: (part: object) => ({ contents: [{ parts: [part] }] }),
};

describe('the maximum input of a request', () => {
  it.each([
    ['responses', { type: 'input_image', image_url: PNG }, 16_400],
    ['chat', { type: 'image_url', image_url: { url: PNG } }, 16_400],
    ['messages', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } }, 5_000],
    ['gemini', { inlineData: { mimeType: 'image/png', data: DATA } }, 16_400],
  ] as const)('%s: an image counts by its type, at any size', (kind, part, tokens) => {
    const small = JSON.parse(JSON.stringify(part).replace(DATA, 'AA==')) as object;
    const [large, tiny] = [part, small].map((one) => estimateRequest(request(kind, WITH[kind](one))).inputTokens);
    expect(large).toBe(tiny);
    expect(large).toBeGreaterThanOrEqual(tokens);
    expect(large).toBeLessThan(tokens + 1_000);
  });

  it.each([
    ['responses', { type: 'input_file', file_data: 'data:application/pdf;base64,AA==' }],
    ['chat', { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }],
    ['messages', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } }],
    ['gemini', { inlineData: { mimeType: 'application/pdf', data: 'AA==' } }],
  ] as const)('%s: a file counts as the largest context window, because its pages are unknown', (kind, part) => {
    expect(estimateRequest(request(kind, WITH[kind](part))).inputTokens).toBe(ALL_THAT_CAN_BE_READ);
  });

  it('counts a document of text by its bytes, and a message without contents', () => {
    const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x'.repeat(100) } };
    expect(estimateRequest(request('messages', WITH.messages(text))).inputTokens).toBeLessThan(1_000);
    const empty = request('chat', { messages: [{ role: 'assistant', content: null }] });
    expect(estimateRequest(empty).inputTokens).toBeLessThan(1_000);
  });

  it('finds images and files within results of tools', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } };
    const result = { type: 'tool_result', tool_use_id: 't', content: [image, image] };
    const { inputTokens } = estimateRequest(request('messages', WITH.messages(result)));
    expect(inputTokens).toBeGreaterThan(10_000);
    expect(inputTokens).toBeLessThan(11_000);
    const output = { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_data: 'x' }] };
    expect(estimateRequest(request('responses', { input: [output] })).inputTokens).toBe(ALL_THAT_CAN_BE_READ);
    const answer = {
      functionResponse: {
        name: 'n',
        response: {},
        parts: [{ inlineData: { mimeType: 'application/pdf', data: 'x' } }],
      },
    };
    expect(estimateRequest(request('gemini', WITH.gemini(answer))).inputTokens).toBe(ALL_THAT_CAN_BE_READ);
  });

  it('does not count text as an image because it looks like one', () => {
    const input = { type: 'input_image', image_url: DATA, content: [{ type: 'image', source: { data: DATA } }] };
    const call = { type: 'tool_use', id: 'i', name: 'n', input };
    expect(estimateRequest(request('messages', WITH.messages(call))).inputTokens).toBeGreaterThan(2 * DATA.length);
  });

  it('knows the model that counts images higher than all others', () => {
    const body = { ...WITH.chat({ type: 'image_url', image_url: { url: PNG } }), model: 'gpt-4o-mini-2024-07-18' };
    expect(estimateRequest(request('chat', body)).inputTokens).toBeGreaterThan(48_000);
  });

  it('includes what a provider adds for tools, and a second run of the model', () => {
    const plain = estimateRequest(request('messages', { max_tokens: 1_000, messages: [] }));
    const tools = estimateRequest(request('messages', { max_tokens: 1_000, messages: [], tools: [{ name: 'n' }] }));
    expect(tools.inputTokens).toBeGreaterThan(plain.inputTokens + 2_000);
    const edits = { context_management: { edits: [{ type: 'compact_20260112' }] } };
    const twice = estimateRequest(request('messages', { max_tokens: 1_000, messages: [], ...edits }));
    expect(twice.inputTokens).toBeGreaterThan(2 * plain.inputTokens + 5_000);
  });
});

describe('the maximum output', () => {
  it.each([
    ['chat', { messages: [], max_completion_tokens: 1, max_tokens: 100_000 }, 'both max_tokens and max_completion'],
    ['chat', { messages: [], max_completion_tokens: 100_000.5 }, '100000.5 at max_completion_tokens'],
    ['chat', { messages: [], max_tokens: 0 }, '0 at max_tokens'],
    ['responses', { input: [], max_output_tokens: -1 }, '-1 at max_output_tokens'],
    ['messages', { messages: [], max_tokens: 0.1 }, '0.1 at max_tokens'],
    ['gemini', { contents: [], generationConfig: { maxOutputTokens: 1e400 } }, 'generationConfig.maxOutputTokens'],
    ['gemini', { contents: [], generationConfig: { candidateCount: 0.5 } }, 'generationConfig.candidateCount'],
  ] as const)('%s: a limit that servers could interpret differently is refused: %j', (kind, body, says) => {
    expect(() => request(kind, body)).toThrow(says);
  });

  it('is forwarded, also if the request allows more than any model produces', () => {
    const asked = request('messages', { messages: [], max_tokens: 1_000_000 });
    expect(estimateRequest(asked).outputTokens).toBe(128_000);
    expect(limitOutput(asked, 128_000).body.max_tokens).toBe(128_000);
  });

  it('includes thoughts that may be longer than it', () => {
    const thinking = { type: 'enabled', budget_tokens: 60_000 };
    const asked = request('messages', { messages: [], max_tokens: 1_000, thinking });
    expect(estimateRequest(asked)).toMatchObject({ outputTokens: 61_000, leastOutput: 60_001 });
    expect(limitOutput(asked, 60_500).body.max_tokens).toBe(60_500);
  });

  it.each([
    ['what is kept in the cache for longer, at a higher price', 'messages', { cache_control: { ttl: '1h' } }],
    ['another tier of service', 'messages', { service_tier: 'priority', speed: 'fast' }],
    ['another tier of service', 'responses', { service_tier: 'priority', input: [] }],
    ['further answers', 'chat', { best_of: 20, messages: [] }],
  ] as const)('%s is dropped (%s)', (_what, kind, more) => {
    const system = [{ type: 'text', text: 'x', ...('cache_control' in more ? cached(more.cache_control.ttl) : {}) }];
    const body = kind === 'messages' ? { max_tokens: 10, messages: [], system, ...more } : more;
    expect(JSON.stringify(request(kind, body).body)).not.toMatch(/ttl|tier|speed|best_of/);
  });
});

function cached(ttl: string) {
  return { cache_control: { type: 'ephemeral', ttl } };
}

describe('the usage of a response', () => {
  it('of the messages API is final in a whole document and at the end of a stream, but not at its start', () => {
    const usage = { input_tokens: 3, output_tokens: 2 };
    const stream = createUsageReader('messages');
    const reports = [
      createUsageReader('messages').document({ usage }),
      stream.event({ type: 'message_start', message: { usage } }),
      stream.event({ type: 'message_delta', usage: { output_tokens: 5 } }),
    ];
    expect(reports).toMatchObject([
      { last: true, usage: { outputTokens: 2 } },
      { last: false, usage: { outputTokens: 2 } },
      { last: true, usage: { inputTokens: 3, outputTokens: 5 } },
    ]);
  });
});
