import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access/authenticate.ts';
import { HaloError } from '../../core/failure/errors.ts';

/** What answers requests to `/mcp`. */
export interface McpEndpoint {
  /** `body`: the parsed JSON of a POST. */
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>;
  close(): Promise<void>;
}

interface McpServing {
  callerOf: (request: FastifyRequest) => Caller;
  /** Aborted when the token of the request is no longer valid, or its user has changed. */
  untilRevoked: (request: FastifyRequest, reply: FastifyReply) => AbortSignal;
  /** Aborted when the server shuts down. */
  closing: AbortSignal;
}

/** Adds `/mcp` (MCP over streamable HTTP) to a server whose hooks check host, origin and token of every request. */
export function addMcpRoute(
  app: FastifyInstance,
  endpoint: McpEndpoint,
  { callerOf, untilRevoked, closing }: McpServing,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // One request with a thousand calls would pass every limit of requests.
    if (Array.isArray(request.body)) {
      throw new HaloError('USAGE', 'A request to /mcp contains several messages.', {
        hint: 'Send one JSON-RPC message per request.',
      });
    }
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const revoked = untilRevoked(request, reply);
    revoked.addEventListener('abort', () => reply.raw.destroy(), { once: true });
    const response = await endpoint.handle(
      new Request('http://localhost/mcp', {
        method: request.method,
        headers: protocolHeaders(request),
        signal: AbortSignal.any([gone.signal, revoked, closing]),
      }),
      request.body,
      callerOf(request),
    );
    for (const [name, value] of response.headers) if (name !== 'content-length') void reply.header(name, value);
    const body = response.body === null ? '' : Readable.fromWeb(response.body);
    return reply.code(response.status).send(body);
  };
  app.route({ method: ['GET', 'POST', 'DELETE'], url: '/mcp', handler });
  app.addHook('onClose', () => endpoint.close());
}

/** The headers of the protocol; the token, for example, is none of them. */
function protocolHeaders({ headers }: FastifyRequest): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && (['accept', 'content-type'].includes(name) || name.startsWith('mcp-'))
      ? [[name, value] as [string, string]]
      : [],
  );
}
