import type { Operation } from '../operation.ts';

type Revoked = { id: string; user: string };

export const revokeTokenOperation: Operation<{ id: string }, Revoked> = {
  name: 'revokeToken',
  method: 'POST',
  path: '/v1/tokens/{id}/revoke',
  access: 'administer',
  everywhere: true,
  summary: 'Revokes a token by its id; it stops working immediately.',
  output: { kind: 'json', schema: (z) => z.object({ id: z.string(), user: z.string() }) },
  async run({ host, by }, { id }) {
    const { Users } = await import('../../access/users.ts');
    const revoked = await new Users(host.home).revokeToken(id, { by, now: new Date() });
    return { id: revoked.id, user: revoked.user };
  },
};
