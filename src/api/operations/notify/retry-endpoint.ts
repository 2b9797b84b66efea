import type { Operation } from '../operation.ts';

export const retryEndpointOperation: Operation<{ name: string }, { notifications: number }> = {
  name: 'retryEndpoint',
  method: 'POST',
  path: '/v1/notifications/{name}/retry',
  access: 'administer',
  everywhere: true,
  summary: 'Lets workers send everything that an endpoint of notifications has not received, immediately.',
  output: { kind: 'json', schema: (z) => z.object({ notifications: z.number().int() }) },
  async run({ host }, { name }) {
    const { retryEndpoint } = await import('../../notify/endpoints.ts');
    return { notifications: await retryEndpoint(host.home, name, new Date()) };
  },
};
