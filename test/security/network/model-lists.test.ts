import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { updateModels } from '../../../src/features/models/api/update-models.ts';
import { viewModels } from '../../../src/features/models/api/view-models.ts';
import { hostOf } from '../../support/halo/host.ts';

/** A provider of models, and a publisher of prices, that are not what they seem. */

const KEY = 'sk-test-key-of-the-provider-0123456789';
let home: string;
let server: Server;
let answer: (key: string | undefined) => { status?: number; headers?: Record<string, string>; body: string };

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'halo-home-'));
  server = createServer((request, response) => {
    const { status = 200, headers = {}, body } = answer(request.headers.authorization);
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  writeFileSync(join(home, 'config.toml'), `[providers.openai]\nbase_url = "${address()}/v1"\n`);
  vi.stubEnv('OPENAI_API_KEY', KEY);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await new Promise((done) => server.close(done));
  rmSync(home, { recursive: true });
});

const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const view = () => viewModels(hostOf(home), { all: false, signal: undefined });
const listOf = (...ids: unknown[]) => JSON.stringify({ data: ids.map((id) => ({ id })) });

describe('incident model-list: a provider answers the question for its models', () => {
  it('with what it offers: the known models are listed, and the key is sent to it alone', async () => {
    const keys: (string | undefined)[] = [];
    answer = (key) => {
      keys.push(key);
      return { body: listOf('gpt-5.5', 'text-embedding-9') };
    };
    const { models, providers } = await view();
    expect(models.map(({ name }) => name)).toEqual(['gpt-5.5']);
    expect(providers.map(({ state }) => state)).toEqual(['reached', 'no-key', 'no-key']);
    expect(keys).toEqual([`Bearer ${KEY}`]);
  });

  it('with a redirect: it is not followed, so the key does not leave', async () => {
    let asked = 0;
    answer = () => {
      asked += 1;
      return { status: 302, headers: { location: `${address()}/elsewhere` }, body: '' };
    };
    expect((await view()).providers[0]).toMatchObject({ state: 'failed', why: 'the answer is 302' });
    expect(asked).toBe(1);
  });

  it('with names that are long, no text, or control a terminal: only texts of a usual length count', async () => {
    answer = () => ({ body: listOf('gpt-5.5', 'x'.repeat(10_000), 5, null, { id: 'gpt-5.4' }) });
    expect((await view()).models.map(({ name }) => name)).toEqual(['gpt-5.5']);
  });

  it('without an end: halo stops at 16 MiB', async () => {
    answer = () => ({ body: `{"data":["${'x'.repeat(17 * 1024 * 1024)}"]}` });
    expect((await view()).providers[0]).toMatchObject({ state: 'failed' });
  });
});

describe('incident price-list: what is published as prices', () => {
  const prices = (input: unknown) => [
    { id: 'openai', models: [{ id: 'gpt-5.5', prices: { input_mtok: input, output_mtok: 30 } }] },
  ];
  const update = () => updateModels({ home }, { from: `${address()}/data.json`, today: '9999-01-01' });

  it('counts for runs that are submitted afterwards', async () => {
    answer = () => ({ body: JSON.stringify(prices(7)) });
    expect(await update()).toMatchObject({ changed: ['gpt-5.5'] });
    answer = () => ({ body: listOf('gpt-5.5') });
    expect((await view()).models[0]?.price).toMatchObject({ input: 7, output: 30 });
  });

  it.each([
    ['a negative price, which would give budget back', JSON.stringify(prices(-5))],
    ['a price that is a text', JSON.stringify(prices('0'))],
    ['a page', '<html></html>'],
    ['nothing', ''],
    ['no end', `[${'1,'.repeat(9 * 1024 * 1024)}`],
  ])('is refused, and the prices of before stay: %s', async (_, body) => {
    answer = () => ({ body: JSON.stringify(prices(7)) });
    await update();
    const before = readFileSync(join(home, 'models.json'), 'utf8');
    answer = () => ({ body });
    await expect(update()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(readFileSync(join(home, 'models.json'), 'utf8')).toBe(before);
  });
});
