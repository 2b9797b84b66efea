import type { CreatedToken } from '../../access/users.ts';
import type { Operation } from '../operation.ts';
import { createdTokenSchema } from './user-schemas.ts';

type Input = { name: string; expiresAt?: string | undefined };

export const createTokenOperation: Operation<Input, CreatedToken> = {
  name: 'createToken',
  method: 'POST',
  path: '/v1/users/{name}/tokens',
  access: 'administer',
  everywhere: true,
  summary: 'Creates a token of a user. It is returned only once.',
  input: (z) =>
    z.strictObject({
      expiresAt: z.iso.datetime().optional().describe('When it stops working, in UTC. Default: never.'),
    }),
  example: { expiresAt: '2030-01-31T00:00:00Z' },
  output: { kind: 'json', schema: createdTokenSchema, created: true, secret: true },
  async run({ host, by }, { name, expiresAt }) {
    const { Users } = await import('../../access/users.ts');
    const end = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
    return new Users(host.home).createToken(name, end, { by, now: new Date() });
  },
};
