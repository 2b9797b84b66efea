import type { Delivery } from '../../../store/notification-outbox.ts';
import type { Operation } from '../operation.ts';

const MAX = 1_000;

export const listDeliveriesOperation: Operation<{ limit?: number | undefined }, { deliveries: Delivery[] }> = {
  name: 'listDeliveries',
  method: 'GET',
  path: '/v1/notifications/deliveries',
  access: 'administer',
  everywhere: true,
  summary: 'Returns the latest deliveries of notifications, the newest first.',
  input: (z) => z.strictObject({ limit: z.coerce.number().int().min(1).max(MAX).optional().describe('Default: 100.') }),
  example: { limit: 20 },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        deliveries: z.array(
          z.object({
            at: z.string(),
            endpoint: z.string(),
            ids: z.array(z.string()).describe('Ids of the notifications: `<runId>-<seq>`.'),
            type: z.string(),
            run: z.string(),
            result: z.enum(['delivered', 'failed', 'given up']),
            why: z.string().optional(),
          }),
        ),
      }),
  },
  async run({ host }, { limit = 100 }) {
    const { listDeliveries } = await import('../../notify/endpoints.ts');
    return { deliveries: await listDeliveries(host.home, limit) };
  },
};
