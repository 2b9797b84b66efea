import type { EndpointView } from '../../notify/endpoints.ts';
import type { Operation } from '../operation.ts';

export const listEndpointsOperation: Operation<object, { endpoints: EndpointView[] }> = {
  name: 'listEndpoints',
  method: 'GET',
  path: '/v1/notifications',
  access: 'administer',
  everywhere: true,
  summary: 'Lists the endpoints of notifications, and how many notifications they have not received.',
  input: (z) => z.strictObject({}),
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        endpoints: z.array(
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
          }),
        ),
      }),
  },
  async run({ host }) {
    const { listEndpoints } = await import('../../notify/endpoints.ts');
    return { endpoints: await listEndpoints(host.home) };
  },
};
