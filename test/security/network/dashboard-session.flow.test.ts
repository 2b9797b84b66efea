import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveApi } from '../../../src/api/http/serve-api.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

/** A program of somebody else on another port of the machine, which a person visits who is signed in at halo. */

const dashboard = useDashboard();
let program: Server;
let elsewhere = '';
let asked: IncomingMessage[] = [];
/** Cookies that the program sets. */
let planted: string[] = [];

beforeEach(async () => {
  [asked, planted] = [[], []];
  program = createServer((request, answer) => {
    asked.push(request);
    answer.setHeader('content-type', 'text/html');
    if (planted.length > 0) answer.setHeader('set-cookie', planted);
    answer.end('<!doctype html><title>a tool</title><link rel="icon" href="data:,">');
  });
  await once(program.listen(0, '127.0.0.1'), 'listening');
  elsewhere = `http://127.0.0.1:${(program.address() as AddressInfo).port}`;
});
afterEach(async () => {
  program.closeAllConnections();
  program.close();
  await once(program, 'close');
});

const get = (path: string, headers: Record<string, string>) => fetch(`${dashboard.served.url}${path}`, { headers });
/** What the dashboard sends with its next request for runs. */
async function ownHeaders(): Promise<Record<string, string>> {
  const { page, served } = dashboard;
  await page.goto(`${served.url}/#/spend`);
  // The browser does not say which cookies a request had that the reload has aborted.
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.url().includes('/v1/run-changes')),
    page.reload(),
  ]);
  return response.request().allHeaders();
}

/** What the program on the other port receives from the browser. */
async function stolenCookies(): Promise<[name: string, value: string][]> {
  await dashboard.page.goto(elsewhere);
  return (asked.at(-1)?.headers.cookie ?? '').split('; ').map((pair) => pair.split(/=(.*)/s).slice(0, 2)) as never;
}

describe(
  'incident dashboard-session: a program on another port',
  skipFor(!hasChromium && 'chromium is missing'),
  () => {
    it.each(['owner', 'admin'])('gets no session of the %s that is worth anything', async (who) => {
      const { home, signIn } = dashboard;
      await home.operations.addUser({ name: 'ada', role: 'admin' });
      await signIn(who === 'owner' ? undefined : (await home.operations.createToken({ name: 'ada' })).token);
      const cookies = await stolenCookies();
      expect(cookies.length).toBeGreaterThan(0);
      const cookie = cookies.map((pair) => pair.join('=')).join('; ');
      for (const path of ['/v1/runs', '/v1/users', '/metrics', '/dashboard/person', '/v1/run-changes?follow=true'])
        expect((await get(path, { cookie, 'sec-fetch-site': 'same-origin' })).status, path).toBe(401);
      // The page is the same for everyone.
      expect(await (await get('/', { cookie })).text()).not.toMatch(/ada|owner of/i);
      for (const [, value] of cookies)
        expect((await get('/v1/runs', { authorization: `Bearer ${value}` })).status).toBe(401);
      const reasons = (await home.operations.readAccessLog({ limit: 50 })).events.map(({ reason }) => reason);
      expect(reasons).toContain('a session without the key of its page');
      expect(reasons).toContain(who === 'owner' ? 'unknown' : 'the session of a browser is not a token');
    });

    it('cannot use a whole session as a token, and none after sign-out', async () => {
      const { page, signIn } = dashboard;
      await signIn();
      const { cookie = '', 'halo-page-key': key = '' } = await ownHeaders();
      expect((await get('/v1/users', { cookie, 'halo-page-key': key })).status).toBe(200);
      expect((await get('/v1/users', { cookie })).status).toBe(401);
      expect((await get('/v1/users', { 'halo-page-key': key })).status).toBe(401);
      for (const token of [key, ...cookie.split('; ').map((pair) => pair.replace(/^[^=]*=/, ''))])
        expect((await get('/v1/users', { authorization: `Bearer ${token}` })).status).toBe(401);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in to halo' }).waitFor();
      expect((await get('/v1/users', { cookie, 'halo-page-key': key })).status).toBe(401);
      expect(await page.evaluate('Object.values(localStorage).join()')).not.toContain(key);
      dashboard.problems.length = 0;
    });

    it('cannot lock a person out with cookies of its own', async () => {
      const { page, signIn, served } = dashboard;
      await signIn();
      const names = (await stolenCookies()).map(([name]) => name);
      planted = names.flatMap((name) =>
        ['/', '/v1', '/dashboard', '/sign-in'].map((path) => `${name}=x; path=${path}`),
      );
      await page.goto(elsewhere);
      await page.goto(served.url);
      await page.getByRole('heading', { name: 'Sign in to halo' }).waitFor();
      await signIn();
      await page.reload();
      await page.getByRole('heading', { name: 'Now' }).waitFor();
      await page.getByText('No runs yet.').waitFor();
      // Larger than the headers of any request may be.
      planted = Array.from({ length: 8 }, (_, index) => `large-${index}=${'x'.repeat(3_000)}; path=/`);
      await page.goto(elsewhere);
      expect((await page.goto(served.url))?.status()).toBe(431);
      expect(await page.textContent('body')).toContain('Load the page again');
      await page.reload();
      await page.getByRole('heading', { name: 'Sign in to halo' }).waitFor();
      dashboard.problems.length = 0;
    });

    it('can be another halo, in which the same person is signed in as well', async () => {
      const { page, signIn, served, home } = dashboard;
      const other = await serveApi({
        operations: home.operations,
        listen: '127.0.0.1:0',
        host: { ...home.host, apiToken: 'the-token-of-another-server' },
      });
      try {
        await signIn();
        await page.goto(other.url);
        await page.getByLabel('Token').fill('the-token-of-another-server');
        await page.getByRole('button', { name: 'Sign in with the token' }).click();
        // A page that is left before the answer has no session.
        await page.getByRole('heading', { name: 'Now' }).waitFor();
        for (const { url } of [served, other, served]) {
          await page.goto(`${url}/`);
          await page.getByRole('heading', { name: 'Now' }).waitFor();
        }
      } finally {
        await other.close();
      }
    });
  },
);
