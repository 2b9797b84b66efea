import type { FastifyInstance } from 'fastify';
import type { OpenRoute } from '../sign-in/sign-in-routes.ts';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { LocalOperations } from '../local.ts';

/** Returns what the server needs and cannot reach, in words that reveal nothing else, such as `redis`. */
export type FindMissing = () => Promise<string[]>;

const OPEN: OpenRoute = { open: true };
/** A service that does not answer is missing. */
const CHECK_MS = 3_000;

/**
 * Adds `/healthz`, which answers while the process does, and `/readyz`, which answers 503 while the server cannot work or is
 * closing. Neither needs a token.
 */
export function addHealthRoutes(
  app: FastifyInstance,
  { findMissing, closing }: { findMissing: FindMissing; closing: AbortSignal },
): void {
  app.get('/healthz', { config: OPEN }, async (_request, reply) => reply.type('text/plain').send('ok\n'));
  let checking: Promise<string[]> | undefined;
  app.get('/readyz', { config: OPEN }, async (_request, reply) => {
    // Requests at the same time share one check: anyone may send them.
    checking ??= check(findMissing).finally(() => (checking = undefined));
    const missing = closing.aborted ? ['closing'] : await checking;
    const isReady = missing.length === 0;
    return reply
      .code(isReady ? 200 : 503)
      .type('text/plain')
      .send(isReady ? 'ok\n' : `not ready: ${missing.join(', ')}\n`);
  });
}

async function check(findMissing: FindMissing): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve(['no answer in time']), CHECK_MS);
  });
  return Promise.race([findMissing(), late]).finally(() => clearTimeout(timer));
}

/** What a server needs and cannot reach or use, for `/readyz`. */
export async function findMissing(home: string, operations: Pick<LocalOperations, 'pingQueue'>): Promise<string[]> {
  const checks = {
    home: () => access(home, constants.R_OK | constants.W_OK),
    redis: () => operations.pingQueue(),
  };
  const found = await Promise.all(
    Object.entries(checks).map(([name, check]) =>
      check().then(
        () => [],
        () => [name],
      ),
    ),
  );
  return found.flat();
}
