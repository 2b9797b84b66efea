import { pipeline, Readable } from 'node:stream';
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { HaloError } from '../../core/failure/errors.ts';
import { safeJson } from '../../core/text/safe-text.ts';
import { exceedsJsonLimits } from '../../lib/parse-json.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { Caller } from '../access/authenticate.ts';
import type { Credential } from '../access/credential.ts';
import type { CallerOptions } from '../access/call-for-user.ts';
import { clientLeft, UserTurns } from '../access/user-turns.ts';
import { UNDECIDED_HEADER } from './http-request.ts';
import { addSignInRoutes, type OpenRoute, type SignIn } from '../sign-in/sign-in-routes.ts';
import { answerBrokenRequest, fromFastify, statusOf } from './http-errors.ts';
import { addOperationRoute, untilGone, type RouteConfig, type Serving } from './operation-route.ts';
import { addHealthRoutes, type FindMissing } from './health-routes.ts';
import { assertOwnHost, readCredential } from './request-credential.ts';
import { openRequestLimits, TooManyRequests, type RequestLimits } from './request-limits.ts';
import { OpenStreams } from './http-stream.ts';
import type { TlsPair } from './tls-files.ts';
import { ALL_OPERATIONS } from '../operations.ts';
import type { CallOperation } from '../operations/operation.ts';
import { addMcpRoute, type McpEndpoint } from './mcp-route.ts';
import { toWireError } from './wire-error.ts';

const METRICS_PATH = '/metrics';
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Of one user, except streams. */
const MAX_RUNNING = 128;
/** Of these, answers that are made or that their client has not read yet: one may need many megabytes of memory. */
const MAX_READING = 8;
/** A body of the maximum size passes at 30 kB/s. Who reads a stream in a pager may pause for long. */
const TIMEOUTS = { headersMs: 10_000, requestMs: 5 * 60_000, stalledMs: 60 * 60_000 };

/** If a browser shows a response, it must not run, frame, sniff or store it. */
const BROWSER_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export interface AppOptions {
  /** Determines who sent a request. */
  access: RequestAccess;
  /** Requests of one user in a minute; 0 or absent: no limit. */
  requestsPerMinute?: number;
  /** Serves HTTPS. */
  tls?: TlsPair;
  /** How long a client may take to send headers, and a request; and for how long it may read nothing of a stream. */
  timeouts?: Partial<typeof TIMEOUTS>;
  /** Allowed names in the Host header, without port; absent: any. Protects loopback against DNS rebinding. */
  hosts?: readonly string[];
  /** The address of the server for its users. */
  url?: string;
  /** A proxy on this machine reports the addresses of its clients. */
  behindProxy?: boolean;
  /** For `/readyz`; absent: the server is always ready. */
  findMissing?: FindMissing;
  /** Whether `/metrics` needs no token. */
  publicMetrics?: boolean;
  /** Signs browsers in; absent: only programs with a token are served. */
  signIn?: (limits: RequestLimits) => SignIn;
  /** Masks every response. */
  masker?: Masker;
  /** Answers requests to `/mcp`; absent: there is no such path. */
  mcp?: McpEndpoint;
  /** Adds routes that check by themselves who sends a request. */
  addOpenRoutes?: (app: FastifyInstance, limits: RequestLimits) => Promise<void>;
}

/** Who may send requests, and what runs for them. */
export interface RequestAccess {
  /** By the credential and the address of the client; undefined: no user of the server. Throws DISK_FAILED. */
  identify(credential: Credential, from: string): Promise<Caller | undefined>;
  /** Records that a credential was refused. Throws DISK_FAILED. */
  recordRefused(credential: Credential, from: string): Promise<void>;
  /** Runs operations for a caller. They throw ACCESS_DENIED. */
  callFor(caller: Caller, how: CallerOptions): CallOperation;
}

/** Builds the HTTP API without listening. Closing it ends open streams; the operations stay open. */
export function buildApp(options: AppOptions): FastifyInstance {
  const { headersMs, requestMs, stalledMs } = { ...TIMEOUTS, ...options.timeouts };
  const timing = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, headersMs),
  };
  const streams = new OpenStreams(stalledMs);
  const running = new UserTurns({ max: MAX_RUNNING, what: 'running requests', hint: 'Wait for their answers.' });
  const reading = new UserTurns({ running: MAX_READING, max: MAX_READING + MAX_RUNNING, what: 'requests' });
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: requestMs,
    forceCloseConnections: true,
    // Elsewhere, the browser would clear cookies of other sites, too.
    clientErrorHandler: answerBrokenRequest({ clearsCookies: options.hosts !== undefined && !options.behindProxy }),
    // Without a proxy, any client could report another address.
    trustProxy: options.behindProxy === true ? 'loopback' : false,
    ...(options.tls ? { https: { ...options.tls, ...timing, handshakeTimeout: headersMs } } : { http: timing }),
  }) as FastifyInstance;
  void app.register(rateLimit, { global: false });
  const limits = openRequestLimits(app, options);
  const closing = new AbortController();
  app.setReplySerializer((payload) => safeJson(payload));
  const callers = new WeakMap<FastifyRequest, Caller>();
  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request);
    if (caller === undefined) throw refusedToken();
    return caller;
  };
  /** The only place where a caller is identified: whatever is refused is counted and recorded. */
  const identify = async (request: FastifyRequest, credential: Credential): Promise<Caller> => {
    const caller = await options.access.identify(credential, request.ip);
    if (caller === undefined) {
      await limits.countRefused(request);
      await options.access.recordRefused(credential, request.ip);
      throw refusedToken();
    }
    if (caller.kind === 'user') await limits.countRequest(request, caller.user.name);
    return caller;
  };
  const isSecure = options.tls !== undefined || options.url?.startsWith('https:') === true;
  void app.register(cookie);
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers(BROWSER_HEADERS);
    assertOwnHost(request, options);
    if ((request.routeOptions.config as Partial<OpenRoute>).open === true) return;
    if (options.publicMetrics === true && request.routeOptions.url === METRICS_PATH) {
      callers.set(request, { kind: 'owner' });
      return;
    }
    const credential = readCredential(request, isSecure);
    // MCP clients have a token.
    if (credential === undefined || (credential.from === 'page' && request.routeOptions.url === '/mcp'))
      throw refusedToken();
    const caller = await identify(request, credential);
    // What is counted until the connection closes would be counted forever.
    if (reply.raw.destroyed) throw clientLeft();
    if (caller.kind === 'user' && (request.routeOptions.config as RouteConfig).stream !== true)
      reply.raw.once('close', running.take(caller.user.name));
    callers.set(request, caller);
  });
  const { masker } = options;
  if (masker !== undefined)
    // oxlint-disable-next-line typescript/require-await -- without a callback, a hook must be async
    app.addHook('onSend', async ({ routeOptions }, _reply, payload) =>
      (routeOptions.config as RouteConfig).secret === true ? payload : maskPayload(masker, payload),
    );
  // Who reads nothing of an answer does not keep it in memory. Streams have the same limit from their beginning.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    reply.raw.setTimeout(stalledMs, () => reply.raw.destroy());
    done();
  });
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  // Without a preflight request, web pages can send text and forms to any address, but not JSON.
  app.removeContentTypeParser('text/plain');
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (exceedsJsonLimits(body)) done(new HaloError('USAGE', 'The request contains too many values or levels.'));
    else void parseJson(request, body, done);
  });
  app.setErrorHandler(async (error: FastifyError | HaloError, _request, reply) => {
    const known = fromFastify(error);
    const status = statusOf(known);
    if (status === 401) void reply.header('www-authenticate', 'Bearer realm="halo"');
    if (known instanceof TooManyRequests) void reply.header('retry-after', known.waitSeconds);
    await reply.code(status).send(toWireError(known));
  });
  app.setNotFoundHandler(async (request, reply) => {
    await reply.code(404).send({ code: 'USAGE', message: `There is no ${request.method} ${request.url} in this API.` });
  });
  const identityOf = (request: FastifyRequest) => {
    const credential = readCredential(request, isSecure);
    return {
      caller: callerOf(request),
      identify: async () => credential && options.access.identify(credential, request.ip),
    };
  };
  const serving: Serving = {
    callFor: (request) =>
      options.access.callFor(
        callerOf(request),
        request.headers[UNDECIDED_HEADER] === undefined ? {} : { undecided: true },
      ),
    untilRevoked: (request, reply) => streams.add(reply, identityOf(request)),
    async takeTurn(request, reply) {
      const caller = callerOf(request);
      if (caller.kind === 'user') reply.raw.once('close', await reading.enter(caller.user.name, untilGone(reply)));
    },
    closing: closing.signal,
  };
  for (const operation of ALL_OPERATIONS) addOperationRoute(app, operation, serving);
  const { findMissing = () => Promise.resolve([]) } = options;
  addHealthRoutes(app, { findMissing, closing: closing.signal });
  if (options.signIn !== undefined)
    void addSignInRoutes(app, { signIn: options.signIn(limits), identify, callerOf, isSecure });
  const { addOpenRoutes } = options;
  if (addOpenRoutes !== undefined) void app.register((routes) => addOpenRoutes(routes, limits));
  if (options.mcp !== undefined) {
    const untilRevoked = (request: FastifyRequest, reply: FastifyReply) => streams.watch(reply, identityOf(request));
    addMcpRoute(app, options.mcp, { callerOf, untilRevoked, closing: closing.signal });
  }
  return app;
}

/** Masks documents and streams of lines. */
function maskPayload(masker: Masker, payload: unknown): unknown {
  if (typeof payload === 'string') return masker.text(payload);
  // Files and patches: text that looks like a secret may be code.
  if (Buffer.isBuffer(payload)) return masker.known(payload);
  if (!(payload instanceof Readable)) return payload;
  const masked = masker.stream();
  // The client notices an error when the connection closes.
  pipeline(payload, masked, () => undefined);
  return masked;
}

function refusedToken(): HaloError {
  return new HaloError('API_REFUSED', 'The API token is missing, wrong, expired or revoked.', {
    hint: 'Set HALO_TOKEN to your token (`halo user token` creates one), or to the token of the server: its HALO_TOKEN, or <HALO_HOME>/api-token.',
  });
}
