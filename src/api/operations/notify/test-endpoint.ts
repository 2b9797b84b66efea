import type { Operation } from '../operation.ts';

export const testEndpointOperation: Operation<{ name: string }, { delivered: true }> = {
  name: 'testEndpoint',
  method: 'POST',
  path: '/v1/notifications/{name}/test',
  access: 'administer',
  everywhere: true,
  summary: 'Sends a test message to an endpoint of notifications.',
  output: { kind: 'json', schema: (z) => z.object({ delivered: z.literal(true) }) },
  async run({ host, by }, { name }) {
    const { testEndpoint } = await import('../../notify/endpoints.ts');
    await testEndpoint(host.home, name, by);
    return { delivered: true };
  },
};
