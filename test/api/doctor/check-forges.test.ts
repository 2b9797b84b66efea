import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkForges } from '../../../src/api/doctor/checks.ts';
import { FORGES, type ForgeName } from '../../../src/core/forge-name.ts';
import { openFakeForge } from '../../support/forge/fake-forge.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function configure(name: ForgeName, lines?: string[]) {
  const forge = await openFakeForge(name);
  onTestFinished(() => forge.close());
  const home = tempDir('halo-check-forges');
  const table = lines ?? [`url = ${JSON.stringify(forge.url)}`, 'token_env = "FORGE_TOKEN"'];
  writeFileSync(join(home, 'config.toml'), [`[forge.${name}]`, ...table, ''].join('\n'));
  return { forge, home, check: (token = forge.token) => checkForges(home, { FORGE_TOKEN: token }) };
}

describe('doctor', () => {
  it('says nothing about forges that are not configured', async () => {
    expect(await checkForges(tempDir('halo-check-forges'), {})).toEqual([]);
  });

  it('warns of a token without a variable, an empty variable and a missing URL, and sends no request', async () => {
    const noToken = await configure('github', ['url = "http://127.0.0.1:1"']);
    expect((await noToken.check())[0]?.says).toBe('No token is configured for the forge github.');
    const empty = await configure('gitlab');
    const [unset] = await empty.check('');
    expect(unset?.says).toBe('The variable FORGE_TOKEN, the token of the forge gitlab, is not set.');
    expect(empty.forge.log).toEqual([]);
    const noUrl = await configure('gitea', ['token_env = "FORGE_TOKEN"']);
    expect((await noUrl.check())[0]?.says).toBe('No URL is configured for the forge gitea.');
  });

  it('warns of a GitHub or GitLab token that lacks a scope', async () => {
    for (const [name, scope] of [
      ['github', 'public_repo'],
      ['gitlab', 'read_api'],
    ] as const) {
      const { forge, check } = await configure(name);
      forge.scopes = ['read_user'];
      expect(await check()).toMatchObject([{ ok: 'warn', says: expect.stringContaining(scope) as string }]);
      forge.scopes = [scope];
      expect(await check()).toMatchObject([{ ok: 'ok' }]);
    }
  });

  it('warns of a GitLab token that may read but not write if reports are on', async () => {
    const { forge, check, home } = await configure('gitlab');
    appendFileSync(join(home, 'config.toml'), '[issues]\nreport = true\n');
    forge.scopes = ['read_api'];
    const says = 'the token in FORGE_TOKEN lacks the scope `api`: it has read_api';
    expect(await check()).toMatchObject([{ ok: 'warn', says }]);
    forge.scopes = ['api'];
    expect(await check()).toMatchObject([{ ok: 'ok' }]);
  });

  it('warns of a Gitea token that may not read issues', async () => {
    const { forge, check } = await configure('gitea');
    forge.scopes = ['read:user'];
    expect(await check()).toMatchObject([{ ok: 'warn', says: expect.stringContaining('403') as string }]);
  });
});

describe.each(FORGES)('doctor and the forge %s', (name) => {
  it('agree about a valid token, with one request', async () => {
    const { forge, check } = await configure(name);
    const says = `${forge.url} accepts the token in FORGE_TOKEN`;
    expect(await check()).toEqual([{ name: `forge ${name}`, ok: 'ok', says }]);
    expect(forge.log).toHaveLength(1);
  });

  it('warns of a refused token, without printing one that the forge repeats', async () => {
    const { forge, check } = await configure(name);
    const wrong = 'wrong-token-0123456789';
    expect(await check(wrong)).toMatchObject([{ ok: 'warn', says: expect.stringContaining('401') as string }]);
    forge.fault = () => ({ status: 401, body: JSON.stringify({ message: `${wrong} is unknown` }) });
    expect(JSON.stringify(await check(wrong))).not.toContain(wrong);
  });

  it('warns of a forge that does not answer, is broken, or limits requests, without waiting', async () => {
    const { forge, check } = await configure(name);
    for (const fault of [
      { drop: 'before' },
      { status: 502 },
      { status: 429, headers: { 'retry-after': '600' } },
    ] as const) {
      forge.log.length = 0;
      forge.fault = () => fault;
      expect(await check()).toMatchObject([{ ok: 'warn', name: `forge ${name}` }]);
      expect(forge.log.length).toBeLessThanOrEqual(1);
    }
  });

  it('does not carry the token to the target of a redirect', async () => {
    const { forge, check } = await configure(name);
    const seen: string[] = [];
    const thief = createServer((request, response) => {
      seen.push(JSON.stringify(request.headers));
      response.end('{}');
    });
    await new Promise<void>((done) => thief.listen(0, '127.0.0.1', done));
    onTestFinished(() => void thief.close());
    const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`;
    for (const status of [301, 302, 307, 308]) {
      forge.fault = () => ({ status, headers: { location } });
      expect(await check()).toMatchObject([{ ok: 'warn', says: expect.stringContaining(String(status)) as string }]);
    }
    expect(seen).toEqual([]);
  });
});
