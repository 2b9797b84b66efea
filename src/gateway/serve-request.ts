import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerError } from './error-responses.ts';
import type { Ledger } from './ledger.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import { describeOperations, findOperation } from './model/model-operations.ts';
import type { ModelHandler, ModelRoute } from './model/model-route.ts';
import { isForMirror, serveMirror, type MirrorDoor } from './registry/registry-proxy.ts';
import { showsToken } from './attempt-token.ts';
import { servePlainProxy } from './plain-proxy.ts';
import { readModelRequest } from './model/read-model-request.ts';

/** What the doors of one gateway share. */
export interface Doors {
  ledger: Ledger;
  world: MirrorDoor;
  limits: GatewayLimits;
  route: ModelRoute | undefined;
  model: ModelHandler | undefined;
  /** Under way now. */
  modelRequests: number;
  /** What is left for bodies that are being read. */
  pool: { bytes: number };
  /** Requests being answered. */
  running: Set<Promise<void>>;
}

/** Answers a request, or refuses it: only what is listed as an operation reaches the model, only GET and HEAD the network. */
export async function serveRequest(doors: Doors, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { model, route, ledger, limits, pool } = doors;
  const url = req.url ?? '';
  const oddity = findOddity(req);
  if (oddity !== undefined) return refuse(ledger, { req, res, status: 400, reason: oddity });
  if (!url.startsWith('/')) return servePlainProxy(doors.world, req, res);
  if (isForMirror(doors.world, url)) return serveMirror(doors.world, req, res);
  const operation = route === undefined ? undefined : findOperation(route.api, req.method ?? '', url);
  if (model === undefined || route === undefined || operation === undefined) {
    const served = route === undefined ? 'no model route' : `only ${describeOperations(route.api)}`;
    const reason = `There is nothing at ${req.method} ${url}: halo serves ${served} here.`;
    return refuse(ledger, { req, res, status: 404, reason });
  }
  if (!showsToken(req.headers, route.token)) {
    ledger.reportProblem({ sentence: NO_TOKEN });
    return refuse(ledger, { req, res, status: 401, reason: NO_TOKEN });
  }
  if (doors.modelRequests >= limits.requests) {
    return refuse(ledger, { req, res, status: 503, reason: `More than ${limits.requests} model requests at once.` });
  }
  doors.modelRequests += 1;
  try {
    const { bodyBytes } = limits;
    const request = await readModelRequest(req, { operation, models: route.models, bodyBytes, pool });
    if ('reason' in request) {
      ledger.reportProblem({ sentence: request.reason });
      return refuse(ledger, { req, res, ...request });
    }
    await model.answer(request, res);
  } finally {
    doors.modelRequests -= 1;
  }
}

const NO_TOKEN = 'The request does not show the token of its attempt: its key must be what HALO_MODEL_KEY holds.';

/** What Node's parser takes, although another reader could take it for something else. */
function findOddity(req: IncomingMessage): string | undefined {
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') return `There is no HTTP/${req.httpVersion} here.`;
  const hosts = req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length > 1 ? 'The request names two hosts.' : undefined;
}

function refuse(
  ledger: Ledger,
  { req, res, status, reason }: { req: IncomingMessage; res: ServerResponse; status: number; reason: string },
): void {
  ledger.record({ method: req.method ?? '', target: req.url ?? '', outcome: 'refused', status });
  // A body that is not wanted is not read to its end.
  res.once('finish', () => req.socket.destroySoon());
  res.setHeader('connection', 'close');
  answerError(res, status, reason);
}
