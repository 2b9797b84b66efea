import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HaloError } from '../../core/failure/errors.ts';

const MINUTE_MS = 60_000;
/** Refused tokens of one address in a minute. */
const MAX_REFUSED = 30;

/** Limits of requests. Each function throws TOO_MANY_REQUESTS. */
export interface RequestLimits {
  /** Call it when a token was refused. A client with a valid token at the same address is not affected. */
  countRefused(request: FastifyRequest): Promise<void>;
  countRequest(request: FastifyRequest, tokenId: string): Promise<void>;
}

/** Opens the limits of a server that has registered `@fastify/rate-limit`. */
export function openRequestLimits(
  app: FastifyInstance,
  { requestsPerMinute = 0 }: { requestsPerMinute?: number },
): RequestLimits {
  const tokens = new WeakMap<FastifyRequest, string>();
  // The plug-in adds its functions while the server starts.
  let limits: ReturnType<typeof create> | undefined;
  const create = () => ({
    refused: app.createRateLimit({ max: MAX_REFUSED, timeWindow: MINUTE_MS, keyGenerator: ({ ip }) => ip }),
    requests: app.createRateLimit({
      max: requestsPerMinute,
      timeWindow: MINUTE_MS,
      keyGenerator: (request) => tokens.get(request) ?? '',
    }),
  });
  return {
    async countRefused(request) {
      const counted = await (limits ??= create()).refused(request);
      if (!counted.isAllowed && counted.isExceeded)
        throw new TooManyRequests(`Too many requests with a wrong token come from ${request.ip}`, counted.ttlInSeconds);
    },
    async countRequest(request, tokenId) {
      if (requestsPerMinute === 0) return;
      tokens.set(request, tokenId);
      const counted = await (limits ??= create()).requests(request);
      if (!counted.isAllowed && counted.isExceeded)
        throw new TooManyRequests(
          `Token ${tokenId} may send ${requestsPerMinute} requests per minute`,
          counted.ttlInSeconds,
        );
    },
  };
}

/** Too many requests, and when the next one is allowed. */
export class TooManyRequests extends HaloError {
  readonly waitSeconds: number;

  constructor(what: string, waitSeconds: number) {
    super('TOO_MANY_REQUESTS', `${what}.`, { hint: `Wait ${waitSeconds} seconds.` });
    this.waitSeconds = waitSeconds;
  }
}
