import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface OidcServer {
  issuer: string;
  /** What the provider says of the person with a subject. */
  people: Map<string, Record<string, unknown>>;
  close(): Promise<void>;
}

export const CLIENT = { id: 'halo', secret: 'client-secret-of-the-test' };

/** An OpenID Connect provider on loopback, which signs in the person that the form names. Its users come back to `redirectUri`. */
export async function startOidcServer(redirectUri: string): Promise<OidcServer> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Record<string, unknown>>();
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups', 'preferred_username'] },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...people.get(sub) }),
    }),
  });
  server.on('request', provider.callback());
  return {
    issuer,
    people,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
