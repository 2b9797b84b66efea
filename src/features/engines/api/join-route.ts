import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RequestLimits } from '../../../api/http/request-limits.ts';
import type { OpenRoute } from '../../../api/sign-in/sign-in-routes.ts';
import { readEngines } from '../../../config/host-rules.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { PACKAGE_ROOT } from '../../../lib/version.ts';
import { EngineKeys } from '../store/engine-keys.ts';
import { hostOfAddress } from '../core/engine-entry.ts';

const OPEN: OpenRoute = { open: true };
const MAX_BYTES = 16 * 1024;

const Request = z.strictObject({
  name: z.string().max(40),
  csr: z
    .string()
    .max(8_192)
    .regex(/^[A-Za-z0-9+/]+={0,2}$/),
  mac: z.string().regex(/^[0-9a-f]{64}$/),
});

/** The program that a machine runs to become an engine. */
export async function readJoinScript(): Promise<string> {
  return readFile(join(PACKAGE_ROOT, 'docker', 'engine', 'join.sh'), 'utf8');
}

/**
 * Adds the routes for machines that join as engines: the program, and the request for a certificate, which an invitation of
 * `halo engine add` authenticates.
 */
export function addJoinRoutes(app: FastifyInstance, { home, limits }: { home: string; limits: RequestLimits }): void {
  app.get('/engines/join.sh', { config: OPEN }, async (_request, reply) =>
    reply.type('text/plain').send(await readJoinScript()),
  );
  app.post('/engines/join', { config: OPEN, bodyLimit: MAX_BYTES }, async (request, reply) => {
    const { data } = Request.safeParse(request.body);
    const engine = data && (await readEngines(home)).find(({ name }) => name === data.name);
    const host = engine && hostOfAddress(engine.address);
    const issued =
      data && host !== undefined
        ? await new EngineKeys(home).join(data, { host, now: new Date() }).catch(unlessUnreadable)
        : undefined;
    if (issued === undefined) {
      await limits.countRefused(request);
      throw new HaloError(
        'API_REFUSED',
        'This machine may not join: its command is wrong, used or more than an hour old.',
        {
          hint: 'Run `halo engine add` with the same name again on the server, and use the command that it prints.',
        },
      );
    }
    return reply.type('text/plain').send(`${issued.cert}${issued.ca}`);
  });
}

/** A request without a valid signature is refused like any other one. */
function unlessUnreadable(error: unknown): undefined {
  if (error instanceof HaloError) throw error;
}
