import type { UserChange, UserView } from '../../access/users.ts';
import type { Operation } from '../operation.ts';
import { repositoriesSchema, roleSchema, userSchema } from './user-schemas.ts';

export const changeUserOperation: Operation<UserChange & { name: string }, UserView> = {
  name: 'changeUser',
  method: 'POST',
  path: '/v1/users/{name}',
  access: 'administer',
  everywhere: true,
  summary: 'Changes role or repositories of a user, from the next request on.',
  input: (z) =>
    z.strictObject({
      role: roleSchema(z).optional(),
      repositories: repositoriesSchema(z).nullable().optional().describe('`null`: all repositories.'),
    }),
  example: { role: 'operator' },
  output: { kind: 'json', schema: userSchema },
  async run({ host, by }, { name, ...change }) {
    const { Users } = await import('../../access/users.ts');
    return new Users(host.home).change(name, change, { by, now: new Date() });
  },
};
