import { operation } from '../../../api/operations/operation.ts';
import { endpointSchema } from './endpoint-schema.ts';

const MAX_DELIVERIES = 1_000;

export const notifyOperations = {
  listEndpoints: operation({
    method: 'GET',
    path: '/v1/notifications',
    access: 'administer',
    everywhere: true,
    summary: 'Lists the endpoints of notifications, and how many notifications they have not received.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) => z.object({ endpoints: z.array(endpointSchema(z)) }),
    },
    async run({ host }) {
      const { listEndpoints } = await import('./endpoints.ts');
      return { endpoints: await listEndpoints(host.home) };
    },
  }),
  testEndpoint: operation({
    method: 'POST',
    path: '/v1/notifications/{name}/test',
    access: 'administer',
    everywhere: true,
    summary: 'Sends a test message to an endpoint of notifications.',
    output: { kind: 'json', schema: (z) => z.object({ delivered: z.literal(true) }) },
    async run({ host, by }, { name }) {
      const { testEndpoint } = await import('./endpoints.ts');
      await testEndpoint(host.home, name, by);
      return { delivered: true };
    },
  }),
  retryEndpoint: operation({
    method: 'POST',
    path: '/v1/notifications/{name}/retry',
    access: 'administer',
    everywhere: true,
    summary: 'Lets workers send everything that an endpoint of notifications has not received, immediately.',
    output: { kind: 'json', schema: (z) => z.object({ notifications: z.number().int() }) },
    async run({ host }, { name }) {
      const { retryEndpoint } = await import('./endpoints.ts');
      return { notifications: await retryEndpoint(host.home, name, new Date()) };
    },
  }),
  listDeliveries: operation({
    method: 'GET',
    path: '/v1/notifications/deliveries',
    access: 'administer',
    everywhere: true,
    summary: 'Returns the latest deliveries of notifications, the newest first.',
    input: (z) =>
      z.strictObject({
        limit: z.coerce.number().int().min(1).max(MAX_DELIVERIES).optional().describe('Default: 100.'),
      }),
    example: { limit: 20 },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          deliveries: z.array(
            z.object({
              at: z.string(),
              endpoint: z.string(),
              ids: z.array(z.string()).describe('Ids of the notifications.'),
              type: z.string(),
              run: z.string().optional().describe('Absent for an engine.'),
              result: z.enum(['delivered', 'failed', 'given up']),
              why: z.string().optional(),
            }),
          ),
        }),
    },
    async run({ host }, { limit = 100 }) {
      const { listDeliveries } = await import('./endpoints.ts');
      return { deliveries: await listDeliveries(host.home, limit) };
    },
  }),
};
