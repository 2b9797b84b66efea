import type { User } from '../../../core/access/access.ts';
import type { UserView } from '../../access/users.ts';
import type { Operation } from '../operation.ts';
import { repositoriesSchema, roleSchema, userNameSchema, userSchema } from './user-schemas.ts';

export const addUserOperation: Operation<User & { again?: boolean | undefined }, UserView> = {
  name: 'addUser',
  method: 'POST',
  path: '/v1/users',
  access: 'administer',
  everywhere: true,
  summary: 'Adds a user, who has no token yet.',
  input: (z) =>
    z.strictObject({
      name: userNameSchema(z),
      role: roleSchema(z),
      repositories: repositoriesSchema(z).optional(),
      again: z
        .boolean()
        .optional()
        .describe('It is the same person as a removed user of this name, whose runs the user gets.'),
    }),
  example: { name: 'ada', role: 'submitter', repositories: ['https://git.example.com/shop/*'] },
  output: { kind: 'json', schema: userSchema, created: true },
  async run({ host, by }, user) {
    const { Users } = await import('../../access/users.ts');
    return new Users(host.home).add(user, { by, now: new Date() });
  },
};
