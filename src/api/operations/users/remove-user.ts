import type { Operation } from '../operation.ts';

export const removeUserOperation: Operation<{ name: string }, { name: string }> = {
  name: 'removeUser',
  method: 'POST',
  path: '/v1/users/{name}/remove',
  access: 'administer',
  everywhere: true,
  summary: 'Removes a user; all of their tokens stop working immediately.',
  output: { kind: 'json', schema: (z) => z.object({ name: z.string() }) },
  async run({ host, by }, { name }) {
    const { Users } = await import('../../access/users.ts');
    await new Users(host.home).remove(name, { by, now: new Date() });
    return { name };
  },
};
