import type { Server as TlsServer } from 'node:tls';
import type { Host, OidcSettings, Settings } from '../../config/config.ts';
import { openMasker, type Masker } from '../../lib/secrets/masker.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import { UserFiles } from '../../store/access/user-files.ts';
import { Authenticator } from '../access/authenticate.ts';
import type { OidcProvider } from '../sign-in/oidc-provider.ts';
import { openSignIn } from '../sign-in/open-sign-in.ts';
import type { FindMissing } from './health-routes.ts';
import { buildApp, type AppOptions } from './http-server.ts';
import type { LocalOperations } from '../local.ts';
import { OPEN_ROUTES } from './open-routes.ts';
import { TlsFiles } from './tls-files.ts';
import { ensureToken } from './api-token.ts';
import type { McpEndpoint } from './mcp-route.ts';

export interface Served {
  /** e.g. http://127.0.0.1:7070 */
  url: string;
  /** Where to find the token, for messages; never the token itself. */
  token: string;
  /** Whether other machines may reach it without TLS. */
  isPlain: boolean;
  close(): Promise<void>;
}

export interface ServeOptions {
  operations: Pick<LocalOperations, 'callRemotely' | 'callFor'>;
  /** `host:port` */
  listen: string;
  host: Host;
  /** Masks every response; by default it knows only patterns of secrets. */
  masker?: Masker;
  /** Answers requests to `/mcp`; absent: there is no such path. */
  mcp?: McpEndpoint;
  /** `[server]`; by default no limit of requests, and no TLS. */
  rules?: Partial<Settings['server']>;
  /** For slow clients; by default those of a server in use. */
  timeouts?: AppOptions['timeouts'];
  /** What the server needs and cannot reach, for `/readyz`. */
  findMissing?: FindMissing;
  /** Sign-in through the provider of `rules.oidc`. */
  openProvider?: (settings: OidcSettings, callback: string) => Promise<OidcProvider>;
}

/** Characters. With the token, a user can do everything that halo can do on this machine. */
const MIN_TOKEN_LENGTH = 16;

interface Address {
  host: string;
  port: number;
}

/**
 * Serves the operations at `listen` (`host:port`, port 0 for any). Other addresses than loopback need `host.apiToken`.
 * Throws USAGE, DISK_FAILED.
 */
export async function serveApi(options: ServeOptions): Promise<Served> {
  const address = parseAddress(options.listen);
  const loopback = isLoopback(address.host);
  const given = options.host.apiToken;
  if (!loopback && given === undefined)
    throw new HaloError('USAGE', `Listening on ${address.host} requires HALO_TOKEN.`, {
      hint: 'Set HALO_TOKEN to a long random text, or listen on 127.0.0.1.',
    });
  if (given !== undefined && given.length < MIN_TOKEN_LENGTH) {
    throw new HaloError('USAGE', `HALO_TOKEN has fewer than ${MIN_TOKEN_LENGTH} characters: it could be guessed.`, {
      hint: 'Set it to a long random text, such as the output of `openssl rand -hex 32`, or unset it, so that halo creates one.',
    });
  }
  const { token, path } =
    given === undefined ? await ensureToken(options.host.home) : { token: given, path: undefined };
  const hosts = ['127.0.0.1', 'localhost', '::1', address.host];
  const { operations, masker = openMasker(), mcp, rules = {} } = options;
  masker.learn([token]);
  const { home } = options.host;
  const authenticator = new Authenticator({ ownerToken: token, users: new UserFiles(home), log: new AccessLog(home) });
  const { url: publicUrl, tlsCertificate: certificate, tlsKey: key } = rules;
  const oidc = findOidc(rules);
  const provider =
    oidc === undefined || publicUrl === undefined
      ? undefined
      : await options.openProvider?.(oidc, `${publicUrl}/sign-in/oidc/callback`);
  const tls = certificate === undefined || key === undefined ? undefined : new TlsFiles({ certificate, key });
  const app = buildApp({
    access: {
      identify: (given, from) => authenticator.identify(given, from),
      recordRefused: (given, from) => authenticator.recordRefused(given, from),
      callFor: (caller, how) =>
        caller.kind === 'owner' ? operations.callRemotely(how) : operations.callFor(caller.user, how),
    },
    masker,
    signIn: (limits) => openSignIn({ ownerToken: token, home, authenticator, limits, oidc, provider }),
    ...(publicUrl !== undefined && { url: publicUrl }),
    ...(options.timeouts && { timeouts: options.timeouts }),
    ...(options.findMissing && { findMissing: options.findMissing }),
    publicMetrics: rules.metrics === 'public',
    behindProxy: rules.behindProxy === true,
    requestsPerMinute: rules.requestsPerMinute ?? 0,
    ...(tls && { tls: await tls.read() }),
    ...(loopback && { hosts }),
    ...(mcp && { mcp }),
    addOpenRoutes: async (routes, limits) => {
      for (const add of OPEN_ROUTES) await add(routes, { home, limits });
    },
  });
  const url = await app.listen(address).catch((cause: NodeJS.ErrnoException) => {
    const isUsed = cause.code === 'EADDRINUSE';
    const why = isUsed ? 'another program uses this port' : (cause.code ?? cause.message);
    throw new HaloError('USAGE', `halo cannot listen on ${options.listen}: ${why}.`, {
      hint: `${isUsed ? 'If halo is already running there, use or stop it. Otherwise choose' : 'Choose'} another address with --listen host:port.`,
      cause,
    });
  });
  const unwatch = tls?.watch((pair) => (app.server as unknown as TlsServer).setSecureContext(pair));
  return {
    url,
    token: path ?? 'the one in HALO_TOKEN',
    isPlain: !loopback && tls === undefined && rules.behindProxy !== true,
    close: async () => {
      unwatch?.();
      await app.close();
    },
  };
}

function findOidc({ oidc }: Partial<Settings['server']>): OidcSettings | undefined {
  const { issuer, clientId } = oidc ?? {};
  return oidc === undefined || issuer === undefined || clientId === undefined
    ? undefined
    : { ...oidc, issuer, clientId };
}

/** `127.0.0.1:7070`, `localhost:0`, `[::1]:7070` */
export function parseAddress(text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):([0-9]{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new HaloError('USAGE', `${JSON.stringify(text)} is not a valid address to listen on.`, {
    hint: 'Use host:port, e.g. 127.0.0.1:7070 or [::1]:7070.',
  });
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(host);
}
