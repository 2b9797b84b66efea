import { describe, expect, it } from 'vitest';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import type { ModelServer } from '../../support/model/model-server.ts';
import { ask } from '../client.ts';
import { ANTHROPIC, gateway, GOOGLE, modelServer, OPENAI, TOKEN } from '../fixture.ts';

const KEY = 'sk-canary-0123456789abcdef';
const say = { say: 'hello' };

async function open(api: typeof OPENAI | typeof ANTHROPIC | typeof GOOGLE) {
  const model = await modelServer([say]);
  const route: ModelRoute = { ...api, mode: 'live', baseUrl: model.url, providerKeys: [KEY], cassette: '' };
  return { model, gate: await gateway({ model: route }) };
}

const sent = (model: ModelServer) => JSON.parse(model.requests[0]?.body ?? 'null') as unknown;

const user = (part: object) => ({ input: [{ role: 'user', content: [part] }] });
const tool = (one: object) => ({ tools: [{ type: 'function', name: 'own' }, one] });

const REFUSED: Record<string, [path: string, bodies: [what: string, more: object, place: string][]]> = {
  openai: [
    '/v1/responses',
    [
      ...['web_search', 'web_search_preview', 'code_interpreter', 'computer_use_preview', 'mcp', 'file_search'].map(
        (type): [string, object, string] => [`the tool ${type}`, tool({ type }), 'tools[1].type'],
      ),
      ['the tool image_generation', tool({ type: 'image_generation' }), 'tools[1].type'],
      ['a shell of the provider', tool({ type: 'shell', environment: { type: 'container_auto' } }), 'tools[1].type'],
      ['a search of the provider', tool({ type: 'tool_search', execution: 'server' }), 'tools[1].execution'],
      [
        'a tool in a namespace',
        tool({ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }),
        'tools[1].tools[0].type',
      ],
      [
        'a tool among the items',
        { input: [{ type: 'additional_tools', tools: [{ type: 'mcp' }] }] },
        'input[0].tools[0].type',
      ],
      ['a picture by URL', user({ type: 'input_image', image_url: 'https://evil.example/x.png' }), 'image_url'],
      ['a picture by id', user({ type: 'input_image', file_id: 'file-1' }), 'image_url'],
      ['a file by URL', user({ type: 'input_file', file_url: 'https://evil.example/x' }), 'file_data'],
      ['a file by id', user({ type: 'input_file', file_id: 'file-1' }), 'file_data'],
      [
        'a picture by URL in a result',
        {
          input: [
            { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'http://x' }] },
          ],
        },
        'input[0].output[0].image_url',
      ],
      ['a stored item', { input: [{ type: 'item_reference', id: 'x' }] }, 'input[0].type'],
      ['a call of a tool of the provider', { input: [{ type: 'mcp_call', id: 'x' }] }, 'input[0].type'],
      ['a stored answer', { previous_response_id: 'resp_1' }, 'previous_response_id'],
      ['a stored conversation', { conversation: 'conv_1' }, 'conversation'],
      ['a stored prompt', { prompt: { id: 'p' } }, 'prompt'],
      ['work in the background', { background: true }, 'background'],
      ['another model', { model: 'gpt-expensive' }, 'is not allowed (allowed:'],
    ],
  ],
  chat: [
    '/v1/chat/completions',
    [
      ['search', { web_search_options: {} }, 'web_search_options'],
      ['a foreign tool', { tools: [{ type: 'web_search' }] }, 'tools[0].type'],
      [
        'a picture by URL',
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }] },
        'image_url.url',
      ],
      [
        'a file by id',
        { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
        'file_data',
      ],
      ['many answers', { n: 100 }, 'at n'],
      ['two limits of the answer', { max_tokens: 9, max_completion_tokens: 1 }, 'both max_tokens and max_completion'],
      [
        'sound as a picture',
        {
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:audio/wav;base64,' } }] }],
        },
        'image_url.url',
      ],
    ],
  ],
  anthropic: [
    '/v1/messages?beta=true',
    [
      ...[
        'web_search_20250305',
        'web_fetch_20250910',
        'code_execution_20250825',
        'computer_20250124',
        'mcp_toolset',
      ].map((type): [string, object, string] => [
        `the tool ${type}`,
        { tools: [{ type, name: 'x' }] },
        'tools[0].type',
      ]),
      ['MCP servers', { mcp_servers: [{ type: 'url', url: 'https://evil.example', name: 'x' }] }, 'mcp_servers'],
      ['a container', { container: 'c_1' }, 'container'],
      ...['image', 'document'].flatMap((type): [string, object, string][] => [
        [`${type} by URL`, content({ type, source: { type: 'url', url: 'https://evil.example' } }), 'source.type'],
        [`${type} by id`, content({ type, source: { type: 'file', file_id: 'f' } }), 'source.type'],
      ]),
      [
        'a URL in a tool result',
        content({
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }],
        }),
        'content[0].content[0].source.type',
      ],
      ['an upload', content({ type: 'container_upload', file_id: 'f' }), 'content[0].type'],
      [
        'a result of a foreign tool',
        content({ type: 'server_tool_use', id: 'x', name: 'n', input: {} }),
        'content[0].type',
      ],
      ['another model', { model: 'claude-expensive' }, 'is not allowed (allowed:'],
    ],
  ],
  google: [
    '/v1beta/models/m:generateContent',
    [
      ...['googleSearch', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'fileSearch', 'mcpServers'].map(
        (name): [string, object, string] => [
          `the tool ${name} beside functions`,
          { tools: [{ functionDeclarations: [], [name]: {} }] },
          'tools[0]',
        ],
      ),
      ['the tool googleSearch alone', { tools: [{ googleSearch: {} }] }, 'tools[0]'],
      ['a file by URL', part({ fileData: { fileUri: 'https://evil.example/x' } }), 'parts[0]'],
      ['code that the provider runs', part({ executableCode: { language: 'PYTHON', code: '1' } }), 'parts[0]'],
      [
        'a file by URL in a result',
        part({ functionResponse: { name: 'x', response: {}, parts: [{ fileData: { fileUri: 'https://x' } }] } }),
        'functionResponse.parts[0].inlineData',
      ],
      ...['audio/wav', 'video/mp4', 'application/x-tar'].map((mimeType): [string, object, string] => [
        `data of type ${mimeType}`,
        part({ inlineData: { mimeType, data: 'AA==' } }),
        'parts[0].inlineData.mimeType',
      ]),
      ['a stored context', { cachedContent: 'cachedContents/x' }, 'cachedContent'],
      ['many answers', { generationConfig: { candidateCount: 8 } }, 'candidateCount'],
    ],
  ],
};

function part(one: object) {
  return { contents: [{ role: 'user', parts: [one] }] };
}

function apiOf(kind: string) {
  return kind === 'anthropic' ? ANTHROPIC : kind === 'google' ? GOOGLE : OPENAI;
}

function content(block: object) {
  return { messages: [{ role: 'user', content: [block] }] };
}

const BASE: Record<string, object> = {
  openai: { model: 'm', input: [] },
  chat: { model: 'm', messages: [] },
  anthropic: { model: 'm', max_tokens: 10, messages: [] },
  google: { contents: [] },
};

describe.each(Object.entries(REFUSED))(
  'a request that lets the provider act by itself (%s)',
  (kind, [path, bodies]) => {
    it.each(bodies)('is refused: %s', async (_what, more, place) => {
      const { model, gate } = await open(apiOf(kind));
      const answer = await ask(gate.socket, { path, body: { ...BASE[kind], ...more } });
      expect(answer.status).toBe(400);
      expect(answer.body).toContain(place);
      expect(model.requests).toEqual([]);
      expect(gate.problem()?.sentence).toContain(place);
      expect(gate.requests()).toMatchObject([{ outcome: 'refused', status: 400 }]);
    });

    it('forwards a plain request', async () => {
      const { model, gate } = await open(apiOf(kind));
      expect((await ask(gate.socket, { path, body: BASE[kind] })).status).toBe(200);
      expect(model.requests).toHaveLength(1);
    });
  },
);

describe('a request is rebuilt', () => {
  it.each([
    ['a duplicate key', '{"model":"m","input":[],"tools":[],"tools":[{"type":"mcp"}]}', 'tools'],
    ['the same, escaped', '{"model":"m","input":[],"\\u006dodel":"other"}', 'model'],
    ['a duplicate key in a nested object', '{"model":"m","input":[{"role":"user","role":"user"}]}', 'role'],
    ['a key of all objects', '{"model":"m","input":[],"__proto__":{"store":true}}', '__proto__'],
    ['endless nesting', `{"model":"m","input":${'['.repeat(200)}${']'.repeat(200)}}`, 'nested deeper'],
    ['two documents', '{"model":"m","input":[]}{"model":"m"}', 'is not JSON'],
  ])('%s is refused', async (_what, body, says) => {
    const { model, gate } = await open(OPENAI);
    const answer = await ask(gate.socket, { body });
    expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(new RegExp(`body .*${says}`))]);
    expect(model.requests).toEqual([]);
  });

  it('unknown keys are dropped, nothing is stored, and commas in strings are not keys', async () => {
    const { model, gate } = await open(OPENAI);
    const input = [{ type: 'message', role: 'user', content: '{"a":1,"a":2}', file_id: 'f', attachments: [{}] }];
    await ask(gate.socket, {
      body: { model: 'm', input, store: true, metadata: { a: 'b' }, service_tier: 'priority' },
    });
    expect(sent(model)).toEqual({
      model: 'm',
      input: [{ type: 'message', role: 'user', content: '{"a":1,"a":2}' }],
      store: false,
    });
  });

  it('all requests of Codex are forwarded unchanged', async () => {
    const { model, gate } = await open(OPENAI);
    const own = [
      { type: 'function', name: 'wait', description: 'd', strict: false, parameters: { type: 'object' } },
      { type: 'custom', name: 'exec', description: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    ];
    const body = {
      model: 'm',
      input: [
        {
          type: 'additional_tools',
          id: 'at',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', description: '', tools: own }],
        },
        { type: 'message', id: 'm1', role: 'developer', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'reasoning', id: 'r1', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'e' },
        { type: 'function_call', id: 'f1', status: 'completed', call_id: 'c1', name: 'wait', arguments: '{}' },
        { type: 'function_call_output', id: 'o1', call_id: 'c1', output: 'done' },
        {
          type: 'custom_tool_call',
          id: 'f2',
          status: 'completed',
          call_id: 'c2',
          name: 'exec',
          namespace: 'n',
          input: 'x',
        },
        {
          type: 'custom_tool_call_output',
          id: 'o2',
          call_id: 'c2',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }],
        },
      ],
      tools: [
        ...own,
        { type: 'local_shell' },
        { type: 'tool_search', execution: 'client', description: 'd', parameters: {} },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'medium', context: 'all_turns' },
      store: false,
      stream: true,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      client_metadata: { turn_id: 't' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true } },
    };
    expect((await ask(gate.socket, { body })).status).toBe(200);
    expect(sent(model)).toEqual(body);
  });

  it('a streamed chat completion must report its usage', async () => {
    const { model, gate } = await open(OPENAI);
    await ask(gate.socket, {
      path: '/v1/chat/completions',
      body: { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true },
    });
    expect(sent(model)).toMatchObject({ stream_options: { include_usage: true } });
    expect(gate.usage()).toMatchObject({ requests: 1, inputTokens: 100, outputTokens: 10 });
  });
});

describe('Anthropic’s API', () => {
  const path = '/v1/messages?beta=true';
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] };

  it('receives the key in its own header, known betas and nothing else from the client', async () => {
    const { model, gate } = await open(ANTHROPIC);
    const headers = {
      'x-api-key': 'foreign',
      authorization: 'Bearer foreign',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219, files-api-2025-04-14,mcp-client-2025-04-04,effort-2025-11-24',
      'anthropic-dangerous-direct-browser-access': 'true',
      'x-goog-api-key': TOKEN,
    };
    expect((await ask(gate.socket, { path, headers, body })).status).toBe(200);
    const [request] = model.requests;
    expect(request?.path).toBe('/v1/messages?beta=true');
    expect(request?.headers).toMatchObject({
      'x-api-key': KEY,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219,effort-2025-11-24',
    });
    expect(JSON.stringify(request)).not.toMatch(/foreign|files-api|mcp-client|browser/);
  });

  it('meters streams and documents, including the cache', async () => {
    const usage = { input: 70, output: 7, cached: 20 };
    for (const stream of [true, false]) {
      const model = await modelServer([{ ...say, usage }]);
      const route: ModelRoute = { ...ANTHROPIC, mode: 'live', baseUrl: model.url, providerKeys: [KEY], cassette: '' };
      const gate = await gateway({ model: route });
      await ask(gate.socket, { path, body: { ...body, stream } });
      expect(gate.usage()).toEqual({ requests: 1, inputTokens: 70, cachedTokens: 20, outputTokens: 7 });
    }
  });

  it('counts tokens without usage', async () => {
    const { model, gate } = await open(ANTHROPIC);
    const answer = await ask(gate.socket, {
      path: '/v1/messages/count_tokens',
      body: { model: 'm', messages: body.messages },
    });
    expect(answer.body).toBe('{"input_tokens":100}');
    expect(model.requests[0]?.path).toBe('/v1/messages/count_tokens');
    expect(gate.usage()).toMatchObject({ inputTokens: 0, outputTokens: 0 });
  });

  it.each(['/v1/files', '/v1/messages/batches', '/v1/messages?beta=false', '/v1/responses', '/v1/models'])(
    'serves nothing at %s',
    async (other) => {
      const { model, gate } = await open(ANTHROPIC);
      expect((await ask(gate.socket, { path: other, body })).status).toBe(404);
      expect(model.requests).toEqual([]);
    },
  );
});

describe('Google’s API', () => {
  it('receives the key in its own header and nothing else from the client; usage is metered with thoughts', async () => {
    const { model, gate } = await open(GOOGLE);
    const headers = {
      'x-api-key': TOKEN,
      'x-goog-api-key': 'sk-of-the-attacker',
      authorization: 'Bearer x',
      'x-goog-user-project': 'p',
    };
    const path = '/v1beta/models/m:streamGenerateContent?alt=sse';
    expect((await ask(gate.socket, { path, headers, body: { contents: [] } })).status).toBe(200);
    expect(model.requests[0]?.headers).toMatchObject({ 'x-goog-api-key': KEY });
    expect(model.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(model.requests[0]?.headers).not.toHaveProperty('x-goog-user-project');
    expect(model.requests[0]?.path).toBe('/v1/models/m:streamGenerateContent?alt=sse');
    expect(gate.usage()).toMatchObject({ requests: 1, inputTokens: 100, outputTokens: 10 });
  });

  it.each([
    '/v1beta/models/other:generateContent',
    '/v1beta/models/m:batchGenerateContent',
    '/v1beta/models/m:generateContent?key=sk-of-the-attacker',
    '/v1beta/models/../files:generateContent',
    '/v1beta/models/m%2F..:generateContent',
    '/v1beta/files',
    '/upload/v1beta/files',
    '/v1beta/models/m:toString',
  ])('receives no request for %s', async (path) => {
    const { model, gate } = await open(GOOGLE);
    expect([400, 404]).toContain((await ask(gate.socket, { path, body: { contents: [] } })).status);
    expect(model.requests).toEqual([]);
  });
});
