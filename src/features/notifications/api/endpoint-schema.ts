import type { Shape, Zod } from '../../../api/operations/operation.ts';

/** An endpoint of notifications, and what it has not received. */
export const endpointSchema = (z: Zod) =>
  z.object({
    name: z.string(),
    type: z
      .enum(['webhook', 'slack', 'ntfy', 'mail', 'removed'])
      .describe('`removed`: no longer configured, but it has not received everything.'),
    host: z.string().optional().describe('Absent if the URL is a secret.'),
    events: z.array(z.string()),
    waiting: z.number().int(),
    givenUp: z.number().int().describe('Not delivered within a day, or refused by the endpoint.'),
    why: z.string().optional().describe('Why the last delivery failed.'),
  });

export type EndpointView = Shape<typeof endpointSchema>;
