import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { isLoopback, parseAddress, serveApi } from '../../../src/api/http/serve-api.ts';
import { ensureToken } from '../../../src/api/http/api-token.ts';
import type { Host } from '../../../src/config/config.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: string;
let operations: LocalOperations;
const host = (apiToken?: string): Host => ({ home, redisUrl: undefined, apiUrl: undefined, apiToken });

beforeEach(() => {
  home = tempDir('halo-serve');
  operations = openLocal({ host: host() });
});
afterEach(() => operations.close());

describe('ensureToken', () => {
  it('creates one token, readable by the owner only, and keeps it', async () => {
    const all = await Promise.all([ensureToken(home), ensureToken(home), ensureToken(home)]);
    const path = join(home, 'api-token');
    expect(new Set(all.map(({ token }) => token))).toEqual(new Set([(await readFile(path, 'utf8')).trim()]));
    expect(all[0].token).toMatch(/^[0-9a-f]{64}$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});

describe('serveApi', () => {
  it('serves on loopback with its own token, and reports the path of the token', async () => {
    const served = await serveApi({ operations, listen: '127.0.0.1:0', host: host() });
    try {
      expect(served.token).toBe(join(home, 'api-token'));
      const { token } = await ensureToken(home);
      expect((await openHttp({ url: served.url, token }).listRuns()).runs).toEqual([]);
    } finally {
      await served.close();
    }
  });

  it('never reports a token that the user set', async () => {
    const served = await serveApi({ operations, listen: 'localhost:0', host: host('secret-0123456789') });
    await served.close();
    expect(JSON.stringify(served)).not.toContain('secret-0123456789');
    await expect(stat(join(home, 'api-token'))).rejects.toThrow('ENOENT');
  });

  it.each(['0.0.0.0:0', '[::]:0'])('refuses to listen on %s without an explicit token', async (listen) => {
    await expect(serveApi({ operations, listen, host: host() })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it.each([
    ['127.0.0.1:0', {}, false],
    ['0.0.0.0:0', {}, true],
    ['0.0.0.0:0', { behindProxy: true }, false],
  ])('at %s with %o, is open to other machines over plain HTTP: %s', async (listen, rules, isPlain) => {
    const served = await serveApi({ operations, listen, host: host('secret-0123456789'), rules });
    await served.close();
    expect(served.isPlain).toBe(isPlain);
  });

  it('reports that the address is in use', async () => {
    const first = await serveApi({ operations, listen: '127.0.0.1:0', host: host() });
    const listen = new URL(first.url).host;
    await expect(serveApi({ operations, listen, host: host() })).rejects.toMatchObject({
      code: 'USAGE',
      message: `halo cannot listen on ${listen}: another program uses this port.`,
    });
    await first.close();
  });
});

describe('parseAddress', () => {
  it('parses names, IPv4 and IPv6', () => {
    expect(parseAddress('127.0.0.1:7070')).toEqual({ host: '127.0.0.1', port: 7070 });
    expect(parseAddress('[::1]:0')).toEqual({ host: '::1', port: 0 });
    expect(isLoopback('127.9.9.9')).toBe(true);
    expect(isLoopback('127.0.0.1.evil.example')).toBe(false);
  });

  it.each(['7070', ':7070', 'host', 'host:99999', '::1:70', 'http://host:1', 'a b:1'])('refuses %s', (text) => {
    expect(() => parseAddress(text)).toThrow('is not a valid address to listen on');
  });
});
