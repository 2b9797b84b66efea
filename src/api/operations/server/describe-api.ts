import type { Operation } from '../operation.ts';

export const describeApiOperation: Operation<object, Record<string, unknown>> = {
  name: 'describeApi',
  method: 'GET',
  path: '/v1/openapi.json',
  access: 'read',
  summary: 'Returns the OpenAPI 3.1 document of this API.',
  output: { kind: 'json', schema: (z) => z.looseObject({ openapi: z.string() }) },
  run: async (context) => context.describe(),
};
