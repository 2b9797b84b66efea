import type { UserView } from '../../access/users.ts';
import type { Operation } from '../operation.ts';
import { userSchema } from './user-schemas.ts';

export const listUsersOperation: Operation<object, { users: UserView[] }> = {
  name: 'listUsers',
  method: 'GET',
  path: '/v1/users',
  access: 'administer',
  everywhere: true,
  summary: 'Lists the users of this server with their roles, repositories and tokens.',
  input: (z) => z.strictObject({}),
  output: { kind: 'json', schema: (z) => z.object({ users: z.array(userSchema(z)) }) },
  async run({ host }) {
    const { Users } = await import('../../access/users.ts');
    return { users: await new Users(host.home).list() };
  },
};
