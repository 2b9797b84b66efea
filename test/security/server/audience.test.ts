import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureToken } from '../../../src/api/http/api-token.ts';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import type { OidcProvider } from '../../../src/api/sign-in/oidc-provider.ts';
import { openOidcProvider } from '../../../src/api/sign-in/open-oidc-provider.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { hostOf } from '../../support/halo/host.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Tokens that are genuine, but made for another server, another client or another sign-in. */

const CALLBACK = 'http://127.0.0.1:7070/sign-in/oidc/callback';

let issuer: Server;
let url = '';
/** What the next ID token says. */
let claims: Record<string, unknown> = {};

beforeEach(async () => {
  issuer = createServer((asked, answer) => {
    answer.setHeader('content-type', 'application/json');
    if (asked.url === '/token') {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${Buffer.from('signature').toString('base64url')}`;
      answer.end(JSON.stringify({ access_token: 'a', token_type: 'bearer', id_token: idToken }));
    } else {
      answer.end(
        JSON.stringify({
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        }),
      );
    }
  });
  await once(issuer.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
});
afterEach(async () => {
  issuer.closeAllConnections();
  issuer.close();
  await once(issuer, 'close');
});

function openProvider(): Promise<OidcProvider> {
  return openOidcProvider(
    {
      issuer: url,
      clientId: 'halo',
      clientSecretEnv: 'CLIENT_SECRET',
      userClaim: 'email',
      groupsClaim: 'groups',
      roles: {},
      newUsers: undefined,
      sessionMs: 3_600_000,
    },
    { callback: CALLBACK, env: { CLIENT_SECRET: 'x'.repeat(20) }, masker: openMasker(), home: tempDir('halo-oidc') },
  );
}

describe('incident wrong-audience: an ID token of the provider of a server', () => {
  const now = Math.floor(Date.now() / 1000);

  async function signIn(changed: Record<string, unknown>): Promise<unknown> {
    const provider = await openProvider();
    const { pending } = await provider.begin();
    claims = { iss: url, aud: 'halo', sub: 'p-1', nonce: pending.nonce, iat: now, exp: now + 60, email: 'a@b.example' };
    claims = { ...claims, ...changed };
    return provider.finish(`code=c&state=${pending.state}`, pending);
  }

  it('signs a person in, as a control', async () => {
    await expect(signIn({})).resolves.toMatchObject({ sub: 'p-1', email: 'a@b.example' });
  });

  it.each([
    ['another client', { aud: 'wiki' }],
    ['several clients, but not halo', { aud: ['wiki', 'chat'], azp: 'wiki' }],
    ['halo and another client, at the request of that one', { aud: ['halo', 'wiki'], azp: 'wiki' }],
    ['no client', { aud: undefined }],
    ['halo by another provider', { iss: 'https://evil.example' }],
    ['another sign-in', { nonce: 'another' }],
    ['a sign-in that was long ago', { iat: now - 7200, exp: now - 3600 }],
  ])('is refused if it was made for %s', async (_whom, changed) => {
    await expect(signIn(changed)).rejects.toMatchObject({ code: 'SIGN_IN_FAILED' });
  });
});

describe('incident wrong-audience: a token of another server', () => {
  const open: { served: Served; operations: LocalOperations }[] = [];

  async function serve(): Promise<{ url: string; home: string; token: string }> {
    const home = tempDir('halo-server');
    const operations = openLocal({ host: hostOf(home) });
    const served = await serveApi({ operations, listen: '127.0.0.1:0', host: hostOf(home) });
    open.push({ served, operations });
    return { url: served.url, home, token: (await ensureToken(home)).token };
  }

  afterEach(async () => {
    for (const { served, operations } of open.splice(0)) {
      await served.close();
      await operations.close();
    }
  });

  it('is refused, whether it is of a user of the same name, of the owner, or made for another service', async () => {
    const [one, two] = [await serve(), await serve()];
    const tokens = [one.token];
    for (const server of [one, two]) {
      const owner = openHttp(server);
      await owner.addUser({ name: 'ann', role: 'admin' });
      const { token } = await owner.createToken({ name: 'ann' });
      await expect(
        openHttp({ url: server.url, token })
          .listRuns()
          .then(({ runs }) => runs),
      ).resolves.toEqual([]);
      if (server === one) tokens.push(token);
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    tokens.push(`${part({ alg: 'none' })}.${part({ sub: 'ann', aud: 'halo', role: 'admin' })}.`);
    for (const token of tokens)
      await expect(
        openHttp({ url: two.url, token })
          .listRuns()
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({ code: 'API_REFUSED' });
  });
});
