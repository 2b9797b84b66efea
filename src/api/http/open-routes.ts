import type { FastifyInstance } from 'fastify';
import type { RequestLimits } from './request-limits.ts';

type AddRoutes = (app: FastifyInstance, from: { home: string; limits: RequestLimits }) => Promise<void>;

/** Routes of the server that need no token of a user: each has its own way to know who sends a request. */
export const OPEN_ROUTES: readonly AddRoutes[] = [
  async (app, from) => (await import('../../features/engines/api/join-route.ts')).addJoinRoutes(app, from),
];
