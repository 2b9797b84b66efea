import { createHash, timingSafeEqual } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import * as z from 'zod';
import { ERRORS, HaloError, toHaloError, type ErrorCode } from '../../core/failure/errors.ts';
import { safeJson } from '../../core/text/safe-text.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { exceedsJsonLimits } from '../../lib/parse-json.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { streamFrames } from './http-stream.ts';
import { ALL_OPERATIONS } from '../operations/all-operations.ts';
import { pathKeys, type AnyOperation, type CallOperation } from '../operations/operation.ts';
import { addMcpRoute, type McpEndpoint } from './mcp-route.ts';
import { toWireError } from './wire-error.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** If a browser shows a response, it must not run, frame, sniff or store it. */
const BROWSER_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export interface AppOptions {
  /** Runs operations for requests over the network. */
  call: CallOperation;
  /** The bearer token that every request needs. */
  token: string;
  /** Allowed names in the Host header, without port; absent: any. Protects loopback against DNS rebinding. */
  hosts?: readonly string[];
  /** Masks every response. */
  masker?: Masker;
  /** Answers requests to `/mcp`; absent: there is no such path. */
  mcp?: McpEndpoint;
}

/** Builds the HTTP API without listening. Closing it ends open streams; the operations stay open. */
export function buildApp(options: AppOptions): FastifyInstance {
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true });
  const closing = new AbortController();
  app.setReplySerializer((payload) => safeJson(payload));
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(BROWSER_HEADERS);
    done(findRefusal(request, options));
  });
  const { masker } = options;
  if (masker !== undefined) app.addHook('onSend', async (_request, _reply, payload) => maskPayload(masker, payload));
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
    await reply.code(statusOf(known.code)).send(toWireError(known));
  });
  app.setNotFoundHandler(async (request, reply) => {
    await reply.code(404).send({ code: 'USAGE', message: `There is no ${request.method} ${request.url} in this API.` });
  });
  for (const operation of ALL_OPERATIONS) addRoute(app, operation, { call: options.call, closing: closing.signal });
  if (options.mcp !== undefined) addMcpRoute(app, options.mcp, closing.signal);
  return app;
}

interface Serving {
  call: CallOperation;
  /** Aborted when the server shuts down. */
  closing: AbortSignal;
}

function addRoute(app: FastifyInstance, operation: AnyOperation, { call, closing }: Serving): void {
  const { method, output, input } = operation;
  const schema = input?.(z);
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const given = method === 'GET' ? request.query : request.body;
    // The schema of the operation has checked it.
    const checked = {
      ...(schema && (parse(schema, given) as object)),
      ...readPathKeys(operation, request),
    } as never;
    switch (output.kind) {
      case 'json':
        return reply.code(output.created === true ? 201 : 200).send(await call(operation, checked, closing));
      case 'bytes':
        return reply.type(output.mediaType).send(await call(operation, checked, closing));
      case 'stream':
        return streamFrames(
          { reply, closing },
          (signal) => call(operation, checked, signal) as Promise<AsyncIterable<object>>,
        );
    }
  };
  app.route({ method, url: operation.path.replace(/\{\w+\*\}/, '*').replace(/\{(\w+)\}/g, ':$1'), handler });
}

/** The keys of the input that are in the path; fastify calls the last one `*` if it may contain slashes. */
function readPathKeys(operation: AnyOperation, { params }: FastifyRequest): Record<string, string | undefined> {
  const values = params as Record<string, string>;
  return Object.fromEntries(pathKeys(operation).map((key) => [key, values[key] ?? values['*']]));
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

function findRefusal(request: FastifyRequest, { token, hosts }: AppOptions): HaloError | undefined {
  if (hosts !== undefined && !hosts.includes(request.hostname.replace(/^\[|\]$/g, '')))
    return new HaloError('API_REFUSED', `This server does not accept requests for the host name ${request.hostname}.`, {
      hint: `Use one of ${hosts.join(', ')} in HALO_URL.`,
    });
  if (request.headers.origin !== undefined)
    return new HaloError('API_REFUSED', 'This server does not accept requests from web pages.', {
      hint: 'Use the halo command, or a program that sends no Origin header.',
    });
  const [scheme, given = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() === 'bearer' && sameSecret(given, token)) return undefined;
  return new HaloError('API_REFUSED', 'The API token is missing or wrong.', {
    hint: 'Set HALO_TOKEN to the HALO_TOKEN of the server. A server without one has its token in <HALO_HOME>/api-token.',
  });
}

/** Compares digests, so that the time it takes reveals neither content nor length. */
function sameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = z.prettifyError({ issues: parsed.error.issues.slice(0, 10) }).replace(/\s+/g, ' ');
  throw new HaloError('USAGE', `The request is not valid: ${issues}.`);
}

function fromFastify(error: FastifyError | HaloError): HaloError {
  if (error instanceof HaloError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) return new HaloError('USAGE', error.message);
  return toHaloError(error);
}

function statusOf(code: ErrorCode): number {
  switch (code) {
    case 'USAGE':
      return 400;
    case 'API_REFUSED':
      return 401;
    case 'RUN_NOT_FOUND':
    case 'STORY_NOT_FOUND':
    case 'ARTIFACT_UNREADABLE':
      return 404;
    case 'LAND_REFUSED':
    case 'STEER_REFUSED':
    case 'CONFLICT':
    case 'DIRTY_WORKTREE':
      return 409;
    default:
      return statusOfReason(ERRORS[code]);
  }
}

function statusOfReason(reason: StopReason | undefined): number {
  if (reason === 'MISSING_DEPENDENCY') return 503;
  return reason === 'INFRASTRUCTURE' || reason === 'UNKNOWN_ERROR' ? 500 : 422;
}
