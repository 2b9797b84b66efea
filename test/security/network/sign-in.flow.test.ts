import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Users } from '../../../src/api/access/users.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import { openOidcProvider } from '../../../src/api/sign-in/open-oidc-provider.ts';
import type { OidcSettings } from '../../../src/config/config.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { AccessLog } from '../../../src/store/access/access-log.ts';
import { hostOf } from '../../support/halo/host.ts';
import { Browser, type Page } from '../../support/network/browser.ts';
import { freePort } from '../../support/network/free-port.ts';
import { CLIENT, startOidcServer, type OidcServer } from '../../support/network/oidc-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const OWNER = 'the-token-of-the-server';
const NOW = { by: 'owner', now: new Date() };

let home: string;
let operations: LocalOperations;
let users: Users;
let provider: OidcServer;
let port: number;
const open: Served[] = [];

beforeEach(async () => {
  home = tempDir('halo-sign-in');
  operations = openLocal({ host: hostOf(home) });
  users = new Users(home);
  port = await freePort();
  provider = await startOidcServer(`http://127.0.0.1:${port}/sign-in/oidc/callback`);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((served) => served.close()));
  await operations.close();
  await provider.close();
});

async function serve(changed: Partial<OidcSettings> = {}, ownerToken = OWNER): Promise<string> {
  const oidc: OidcSettings = {
    issuer: provider.issuer,
    clientId: CLIENT.id,
    clientSecretEnv: 'CLIENT_SECRET',
    userClaim: 'email',
    groupsClaim: 'groups',
    roles: {},
    newUsers: undefined,
    sessionMs: 3_600_000,
    ...changed,
  };
  const served = await serveApi({
    operations,
    listen: `127.0.0.1:${port}`,
    host: { ...hostOf(home), apiToken: ownerToken },
    mcp: { handle: () => Promise.resolve(new Response('{}')), close: () => Promise.resolve() },
    rules: { requestsPerMinute: 0, url: `http://127.0.0.1:${port}`, oidc },
    openProvider: (settings, callback) =>
      openOidcProvider(settings, { callback, env: { CLIENT_SECRET: CLIENT.secret }, masker: openMasker(), home }),
  });
  open.push(served);
  return served.url;
}

/** Serves again at the same address. */
async function restart(ownerToken?: string): Promise<void> {
  await open.pop()?.close();
  const url = await serve({}, ownerToken);
  // fetch may still hold a closed connection.
  await fetch(url).catch(() => undefined);
}

/** Who the dashboard says is signed in. */
const personIn = async (browser: Browser, url: string): Promise<unknown> =>
  (await browser.request(`${url}/dashboard/person`)).json();

/** Signs in at the provider as `subject`, and returns the page of halo at the end. */
async function signInAs(browser: Browser, url: string, subject: string, returnTo = '/'): Promise<Page> {
  let page = await browser.open(`${url}/sign-in/oidc?return=${encodeURIComponent(returnTo)}`);
  for (let step = 0; step < 4 && page.url.startsWith(provider.issuer); step++) {
    const action = /action="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const prompt = page.text.includes('name="login"') ? 'login' : 'consent';
    page = await browser.post(action, { prompt, login: subject, password: 'any' });
  }
  return page;
}

const logged = async () =>
  (await new AccessLog(home).read({ limit: 50 })).map(({ type, user, reason }) => ({ type, user, reason }));

describe('incident sign-in: a browser signs in through a provider', () => {
  it('gives a person a session, which the API accepts, administrators see, and sign-out ends', async () => {
    const url = await serve({ newUsers: 'viewer' });
    provider.people.set('p-1', { email: 'Ada@example.com', email_verified: true });
    const browser = new Browser();
    expect((await browser.request(`${url}/v1/runs`)).status).toBe(401);
    expect((await browser.open(url)).url).toBe(`${url}/sign-in`);
    const page = await signInAs(browser, url, 'p-1');
    expect(page).toMatchObject({ url: `${url}/`, status: 200 });
    expect(await personIn(browser, url)).toEqual({ name: 'ada@example.com', role: 'viewer', isRestricted: false });
    expect((await browser.request(`${url}/v1/runs`)).status).toBe(200);
    expect((await browser.request(`${url}/v1/users`)).status).toBe(403);
    expect(await users.list()).toMatchObject([
      { name: 'ada@example.com', role: 'viewer', tokens: [{ session: 'oidc' }] },
    ]);
    const cookies = new Map(browser.cookiesOf(url));
    expect((await browser.request(`${url}/sign-out`, { method: 'POST', headers: { origin: url } })).status).toBe(204);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    expect((await fetch(`${url}/v1/runs`, { headers: { cookie, ...browser.pageKey(url) } })).status).toBe(401);
    expect(await users.list()).toMatchObject([{ tokens: [] }]);
    expect(
      (await logged())
        .map(({ type }) => type)
        .toReversed()
        .slice(0, 4),
    ).toEqual(['user.added', 'user.changed', 'session.started', 'token.used']);
  });

  it.each([
    ['whose address is not verified', { email: 'ada@example.com', email_verified: false }, /has not verified/],
    ['without an address', {}, /says nothing about `email`/],
    ['who is not a user', { email: 'eve@example.com', email_verified: true }, /halo user add eve@example.com/],
    [
      'whose address has a sign like a k',
      { email: '\u212Aai@example.com', email_verified: true },
      /cannot be the name/,
    ],
    ['whose address cannot be a name', { email: '<b>@example.com', email_verified: true }, /cannot be the name/],
  ])('refuses a person %s, and records it', async (_who, claims, reason) => {
    const url = await serve();
    await users.add({ name: 'ada@example.com', role: 'admin' }, NOW);
    provider.people.set('p-1', claims);
    const browser = new Browser();
    const page = await signInAs(browser, url, 'p-1');
    expect(page.status).toBe(403);
    expect(page.text.replaceAll('&#39;', "'")).toMatch(reason);
    expect(page.text).not.toContain('<b>@');
    expect((await browser.request(`${url}/v1/runs`)).status).toBe(401);
    expect((await logged())[0]).toMatchObject({
      type: 'session.refused',
      reason: expect.stringMatching(reason) as string,
    });
  });

  it('keeps a user for the person who signed in first, whatever address another account has later', async () => {
    const url = await serve();
    await users.add({ name: 'ada@example.com', role: 'admin' }, NOW);
    provider.people.set('p-1', { email: 'ada@example.com', email_verified: true });
    provider.people.set('p-2', { email: 'ada@example.com', email_verified: true });
    expect((await signInAs(new Browser(), url, 'p-1')).status).toBe(200);
    const page = await signInAs(new Browser(), url, 'p-2');
    expect(page.status).toBe(403);
    expect(page.text).toContain('belongs to another account');
  });

  it('does not let a removed person come back', async () => {
    const url = await serve({ newUsers: 'viewer' });
    provider.people.set('p-1', { email: 'ada@example.com', email_verified: true });
    const browser = new Browser();
    expect((await signInAs(browser, url, 'p-1')).status).toBe(200);
    await users.remove('ada@example.com', NOW);
    expect((await browser.request(`${url}/v1/runs`)).status).toBe(401);
    const page = await signInAs(new Browser(), url, 'p-1');
    expect(page.status).toBe(403);
    expect(page.text).toContain('The user ada@example.com was removed');
  });

  it('takes roles from groups at each sign-in, the highest first, and refuses who is in none', async () => {
    const url = await serve({ roles: { staff: 'viewer', leads: 'operator' } });
    const claims = { email: 'ada@example.com', email_verified: true };
    provider.people.set('p-1', { ...claims, groups: ['staff', 'leads', 'constructor'] });
    const browser = new Browser();
    await signInAs(browser, url, 'p-1');
    expect(await personIn(browser, url)).toMatchObject({ role: 'operator' });
    provider.people.set('p-1', { ...claims, groups: ['staff'] });
    await signInAs(new Browser(), url, 'p-1');
    expect(await personIn(browser, url)).toMatchObject({ role: 'viewer' });
    provider.people.set('p-1', { ...claims, groups: ['constructor'] });
    expect((await signInAs(new Browser(), url, 'p-1')).status).toBe(403);
  });

  it('accepts an answer of the provider only once, in the browser that began, and returns only to its own paths', async () => {
    const url = await serve({ newUsers: 'viewer' });
    provider.people.set('p-1', { email: 'ada@example.com', email_verified: true });
    const [own, other] = [new Browser(), new Browser()];
    const callbacks: string[] = [];
    for (const target of ['//evil.example', '/\\evil.example', 'https://evil.example', '/runs/1'])
      expect((await signInAs(own, url, 'p-1', target)).url).toBe(target === '/runs/1' ? `${url}/runs/1` : `${url}/`);
    // The account is known to the provider, which redirects without a form.
    let page = await own.request(`${url}/sign-in/oidc`);
    for (let step = 0; step < 10 && callbacks.length === 0; step++) {
      const next = new URL(page.headers.get('location') ?? '', provider.issuer).href;
      if (next.startsWith(url)) callbacks.push(next);
      else page = await own.request(next);
    }
    const [callback = ''] = callbacks;
    expect((await other.open(callback)).text).toContain('began in another browser');
    const forged = new URL(callback);
    forged.searchParams.set('state', 'another');
    const begun = await own.request(`${url}/sign-in/oidc`);
    expect(begun.status).toBe(303);
    expect((await own.open(forged.href)).status).toBe(403);
    expect((await own.open(callback)).text).toContain('began in another browser');
  });
});

describe('incident sign-in: a browser signs in with a token', () => {
  it('is signed in no longer than the token is valid, and does nothing for other sites', async () => {
    const url = await serve();
    await users.add({ name: 'ben', role: 'admin' }, NOW);
    const { token, id } = await users.createToken('ben', undefined, NOW);
    const browser = new Browser();
    expect((await browser.post(`${url}/sign-in`, { token: 'halo_00000000_wrong', return: '/' })).status).toBe(403);
    expect((await browser.post(`${url}/sign-in`, { token, return: '/' })).url).toBe(`${url}/`);
    expect(await personIn(browser, url)).toMatchObject({ name: 'ben', role: 'admin' });
    const prune = (headers: Record<string, string>) =>
      browser.request(`${url}/v1/prune`, {
        method: 'POST',
        body: JSON.stringify({ dryRun: true }),
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await prune({ origin: url })).status).not.toBe(401);
    expect((await prune({})).status).toBe(401);
    expect((await prune({ origin: 'https://evil.example' })).status).toBeGreaterThanOrEqual(401);
    expect((await prune({ origin: url, 'sec-fetch-site': 'same-site' })).status).toBe(401);
    expect((await browser.request(`${url}/v1/runs`, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(401);
    expect((await browser.request(`${url}/mcp`, { method: 'POST', headers: { origin: url } })).status).toBe(401);
    expect((await browser.request(`${url}/sign-out`, { method: 'POST' })).status).toBe(401);
    await browser.post(`${url}/sign-in`, { token, return: '/' });
    await users.revokeToken(id, NOW);
    expect((await browser.request(`${url}/v1/runs`)).status).toBe(401);
  });

  it('stays signed in with the token of the server after a restart, until the server has another token', async () => {
    const url = await serve();
    const browser = new Browser();
    await browser.post(`${url}/sign-in`, { token: OWNER, return: '/' });
    expect(await personIn(browser, url)).toMatchObject({ role: 'owner' });
    await restart();
    expect((await browser.request(`${url}/v1/users`)).status).toBe(200);
    await restart('another-token-of-the-server');
    expect((await browser.request(`${url}/v1/users`)).status).toBe(401);
  });

  it('is limited for wrong tokens', async () => {
    const url = await serve();
    const browser = new Browser();
    const statuses = new Set<number>();
    for (let count = 0; count < 35; count++)
      statuses.add((await browser.post(`${url}/sign-in`, { token: `halo_wrong_${count}`, return: '/' })).status);
    expect([...statuses]).toEqual([403, 429]);
  });
});
