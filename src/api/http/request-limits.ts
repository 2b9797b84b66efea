import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HaloError } from '../../core/failure/errors.ts';

const MINUTE_MS = 60_000;
/** Refused credentials of one address in a minute. */
const MAX_REFUSED = 30;
/** Of one user, or of one address before the user is known, in a minute. */
const MAX_SIGN_INS = 30;

/** Limits of requests. Each function throws TOO_MANY_REQUESTS. */
export interface RequestLimits {
  /** Call it when a credential was refused. A client with a valid one at the same address is not affected. */
  countRefused(request: FastifyRequest): Promise<void>;
  /** A request of a user, over all tokens and sessions. */
  countRequest(request: FastifyRequest, user: string): Promise<void>;
  /** A sign-in of a user or, before that is known, from the address of the request. */
  countSignIn(request: FastifyRequest, user?: string): Promise<void>;
}

/** Opens the limits of a server that has registered `@fastify/rate-limit`. */
export function openRequestLimits(
  app: FastifyInstance,
  { requestsPerMinute = 0 }: { requestsPerMinute?: number },
): RequestLimits {
  const keys = new WeakMap<FastifyRequest, string>();
  const perMinute = (max: number) => {
    // The plug-in adds its functions while the server starts.
    let limit: ReturnType<typeof app.createRateLimit> | undefined;
    return async (request: FastifyRequest, key: string, what: string) => {
      limit ??= app.createRateLimit({
        ...{ max, timeWindow: MINUTE_MS },
        keyGenerator: (of) => keys.get(of) ?? '',
      });
      keys.set(request, key);
      const counted = await limit(request);
      if (!counted.isAllowed && counted.isExceeded) throw new TooManyRequests(what, counted.ttlInSeconds);
    };
  };
  const [refused, requests, signIns] = [perMinute(MAX_REFUSED), perMinute(requestsPerMinute), perMinute(MAX_SIGN_INS)];
  return {
    countRefused: (request) =>
      refused(request, request.ip, `Too many requests with a wrong token come from ${request.ip}`),
    async countRequest(request, user) {
      if (requestsPerMinute === 0) return;
      await requests(request, user, `User ${user} may send ${requestsPerMinute} requests per minute`);
    },
    countSignIn: (request, user) =>
      user === undefined
        ? signIns(request, `from ${request.ip}`, `Too many sign-ins come from ${request.ip}`)
        : signIns(request, `user ${user}`, `User ${user} may sign in ${MAX_SIGN_INS} times per minute`),
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
