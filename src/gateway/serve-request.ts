import type { IncomingMessage, ServerResponse, IncomingHttpHeaders } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import { sendError } from './error-responses.ts';
import type { RequestLog } from './request-log.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import { describeOperations, findOperation, type ModelHandler, type ModelRoute } from './model/model-route.ts';
import { isRegistryProxyPath, serveRegistry, type ProxyContext } from './registry/registry-proxy.ts';
import { serveGit, type GitAccess } from './git-proxy.ts';
import type { RegistryTunnels } from './registry/registry-tunnel.ts';
import { servePlainProxy } from './egress/plain-proxy.ts';
import { readModelRequest } from './model/read-model-request.ts';

/** The state shared by all requests of one gateway. */
export interface GatewayContext {
  log: RequestLog;
  proxy: ProxyContext;
  git: GitAccess;
  /** Tunnels to registries that this gateway serves by itself, if it does. */
  tunnels: RegistryTunnels | undefined;
  limits: GatewayLimits;
  route: ModelRoute | undefined;
  model: ModelHandler | undefined;
  /** The number of active model requests. */
  modelRequests: number;
  /** The remaining bytes for request bodies. */
  pool: { bytes: number };
  /** Requests being answered. */
  running: Set<Promise<void>>;
}

/** Serves or refuses a request. Only known operations reach the model, and only reads reach the network. */
export async function serveRequest(context: GatewayContext, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { model, route, log, limits, pool } = context;
  const url = req.url ?? '';
  const oddity = findAmbiguity(req);
  if (oddity !== undefined) return refuseRequest(log, { req, res, status: 400, reason: oddity });
  if (!url.startsWith('/')) return servePlainProxy(context.proxy, req, res);
  if (url.startsWith('/~git/')) return serveGit(context.proxy.network, context.git, { req, res });
  if (isRegistryProxyPath(context.proxy, url)) return serveRegistry(context.proxy, req, res);
  const operation = route === undefined ? undefined : findOperation(route.api, req.method ?? '', url);
  if (model === undefined || route === undefined || operation === undefined) {
    const served = route === undefined ? 'no model route' : `only ${describeOperations(route.api)}`;
    const reason = `${req.method} ${url} does not exist: halo serves ${served} here.`;
    return refuseRequest(log, { req, res, status: 404, reason });
  }
  if (!hasAttemptToken(req.headers, route.gatewayToken)) {
    log.reportProblem({ sentence: TOKEN_MISSING });
    return refuseRequest(log, { req, res, status: 401, reason: TOKEN_MISSING });
  }
  if (context.modelRequests >= limits.requests) {
    return refuseRequest(log, {
      req,
      res,
      status: 503,
      reason: `More than ${limits.requests} model requests are in progress.`,
    });
  }
  context.modelRequests += 1;
  try {
    const { bodyBytes } = limits;
    const request = await readModelRequest(req, { operation, models: route.models, bodyBytes, pool });
    if ('reason' in request) {
      log.reportProblem({ sentence: request.reason });
      return refuseRequest(log, { req, res, ...request });
    }
    await model.respond(request, res);
  } finally {
    context.modelRequests -= 1;
  }
}

const TOKEN_MISSING =
  'The request does not present the token of its attempt: its API key must be the value of HALO_MODEL_KEY.';

/** Finds a property that Node's parser accepts but another parser could read differently. */
function findAmbiguity(req: IncomingMessage): string | undefined {
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') return `HTTP/${req.httpVersion} is not supported.`;
  const hosts = req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length > 1 ? 'The request has two Host headers.' : undefined;
}

function refuseRequest(
  log: RequestLog,
  { req, res, status, reason }: { req: IncomingMessage; res: ServerResponse; status: number; reason: string },
): void {
  log.record({ method: req.method ?? '', target: req.url ?? '', outcome: 'refused', status });
  // The rest of the request body is not read.
  res.once('finish', () => req.socket.destroySoon());
  res.setHeader('connection', 'close');
  sendError(res, status, reason);
}

/** Headers in which the clients of Anthropic and Google send their key; OpenAI's use `authorization`. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key'];

/** Whether a request presents the token of its attempt in one of the headers for API keys. */
function hasAttemptToken(headers: IncomingHttpHeaders, token: string): boolean {
  const bearer = /^bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
  return [bearer, ...KEY_HEADERS.map((name) => headers[name])].some((shown) => isSame(shown, token));
}

function isSame(shown: string | string[] | undefined, token: string): boolean {
  if (typeof shown !== 'string') return false;
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
