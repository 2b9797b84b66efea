import { createRequire } from 'node:module';
import { get, type IncomingHttpHeaders } from 'node:http';
import { resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveApi, type Served } from '../../src/api/http/serve-api.ts';
import { openScriptedHome, type ScriptedHome } from '../support/halo/scripted-home.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { buildWhenStale } = createRequire(import.meta.url)('../../scripts/build.cjs') as {
  buildWhenStale: (root: string) => void;
};
const TOKEN = 'the-token-of-the-server';
/** What the issue of the dashboard allows. */
const MAX_GZIP_BYTES = 250_000;

describe('the files of the dashboard', () => {
  let home: ScriptedHome;
  let served: Served;
  let page: string;

  beforeAll(async () => {
    buildWhenStale(ROOT);
    home = openScriptedHome();
    served = await serveApi({
      operations: home.operations,
      listen: '127.0.0.1:0',
      host: { ...home.host, apiToken: TOKEN },
    });
    page = await (await fetch(served.url, { headers: { cookie: await signIn() } })).text();
  });
  afterAll(async () => {
    await served.close();
    await home.remove();
  });

  async function signIn(): Promise<string> {
    const { headers } = await fetch(`${served.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: served.url },
      body: `token=${TOKEN}`,
    });
    return headers.get('set-cookie')?.split(';')[0] ?? '';
  }

  const built = (name: string) => readFileSync(resolve(ROOT, 'dist/web', name));
  const pathOf = (name: string) => new RegExp(`"(/dashboard/${name}[^"]*)"`).exec(page)?.[1] ?? '';

  it('are smaller than 250 kB with gzip, script and style together', () => {
    const bytes = ['main.js', 'main.css'].map((name) => gzipSync(built(name)).length);
    expect(Math.min(...bytes)).toBeGreaterThan(1_000);
    expect(bytes[0]! + bytes[1]!).toBeLessThan(MAX_GZIP_BYTES);
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ])('are sent with %s to browsers that accept it', async (encoding, decompress) => {
    for (const name of ['main.js', 'main.css']) {
      const { headers, bytes } = await getRaw(pathOf(name), { 'accept-encoding': encoding });
      expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' });
      expect(bytes.length).toBeLessThan(built(name).length / 2);
      expect(decompress(bytes).equals(built(name))).toBe(true);
    }
  });

  it('are sent as they are to other clients', async () => {
    const { headers, bytes } = await getRaw('/dashboard/main.js', { 'accept-encoding': 'identity' });
    expect(headers['content-encoding']).toBeUndefined();
    expect(bytes.equals(built('main.js'))).toBe(true);
  });

  it('are kept by browsers under the address that the page names, and under no other', async () => {
    const kept = await getRaw(pathOf('main.js'));
    expect(kept.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    for (const path of ['/dashboard/main.js', '/dashboard/main.js?v=0'])
      expect((await getRaw(path)).headers['cache-control']).toBe('no-store');
  });

  /** Without decompression, which `fetch` does by itself. */
  function getRaw(path: string, headers: Record<string, string> = {}) {
    return new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((done, fail) => {
      get(new URL(path, served.url), { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      }).on('error', fail);
    });
  }
});
