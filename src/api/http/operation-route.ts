import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { truncate } from '../../core/text/safe-text.ts';
import { explainChoice } from '../../core/text/did-you-mean.ts';
import { pathKeys, type AnyOperation, type CallOperation } from '../operations/operation.ts';
import { chooseFormat, resumeQuery } from './event-stream.ts';
import { streamFrames } from './http-stream.ts';

const MAX_ISSUES_LENGTH = 1_000;

export interface RouteConfig extends FastifyContextConfig {
  /** Its responses may last for days. */
  stream?: boolean;
  /** The response is not masked. */
  secret?: boolean;
}

/** What the server gives to the routes of its operations. */
export interface Serving {
  /**
   * For a stream: aborted when the token is no longer valid, or its user has another role or other repositories, until the
   * reply ends. Throws TOO_MANY_REQUESTS.
   */
  untilRevoked: (request: FastifyRequest, reply: FastifyReply) => AbortSignal;
  callFor: (request: FastifyRequest) => CallOperation;
  /** Waits until the user may read another answer: a turn ends with the response. Throws TOO_MANY_REQUESTS, RUN_ABORTED. */
  takeTurn: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Aborted when the server shuts down. */
  closing: AbortSignal;
}

/** Serves an operation at its path. */
export function addOperationRoute(app: FastifyInstance, operation: AnyOperation, serving: Serving): void {
  const { callFor, takeTurn, untilRevoked, closing } = serving;
  const { method, output, input } = operation;
  // Made for the first request: a server has many operations, and starts without their schemas.
  let schema: z.ZodType | undefined;
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const call = callFor(request);
    const resume = output.kind === 'stream' ? output.resume : undefined;
    const given = method === 'GET' ? resumeQuery(request, resume !== undefined) : request.body;
    schema ??= input?.(z);
    // The schema of the operation has checked it.
    const checked = {
      ...(schema && (parse(schema, given) as object)),
      ...readPathKeys(operation, request),
    } as never;
    const ends = operation.inspects === true || operation.endsWithRequest === true;
    const ending = ends ? AbortSignal.any([closing, untilGone(reply)]) : closing;
    if (method === 'GET' && output.kind !== 'stream') await takeTurn(request, reply);
    switch (output.kind) {
      case 'json':
        return reply.code(output.created === true ? 201 : 200).send(await call(operation, checked, ending));
      case 'bytes':
        return reply.type(output.mediaType).send(await call(operation, checked, closing));
      case 'stream':
        return streamFrames(
          {
            reply,
            closing: AbortSignal.any([closing, untilRevoked(request, reply)]),
            format: chooseFormat(request),
            idOf: (frame) => resume?.(frame as never).after,
          },
          (signal) => call(operation, checked, signal) as Promise<AsyncIterable<object>>,
        );
    }
  };
  const config: RouteConfig = {
    secret: output.kind === 'json' && output.secret === true,
    stream: output.kind === 'stream',
  };
  app.route({ method, config, url: operation.path.replace(/\{\w+\*\}/, '*').replace(/\{(\w+)\}/g, ':$1'), handler });
}

/** Aborted when the client has left, or has its reply. */
export function untilGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (reply.raw.destroyed) gone.abort();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

/** The keys of the input that are in the path; fastify calls the last one `*` if it may contain slashes. */
function readPathKeys(operation: AnyOperation, { params }: FastifyRequest): Record<string, string | undefined> {
  const values = params as Record<string, string>;
  return Object.fromEntries(pathKeys(operation).map((key) => [key, values[key] ?? values['*']]));
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: explainChoice });
  if (parsed.success) return parsed.data;
  const issues = z.prettifyError({ issues: parsed.error.issues.slice(0, 10) }).replace(/\s+/g, ' ');
  // An issue can name every key of the request.
  throw new HaloError('USAGE', `The request is not valid: ${truncate(issues, MAX_ISSUES_LENGTH)}.`);
}
