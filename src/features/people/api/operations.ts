import { ACCESSES, ROLES } from '../../../core/access/access.ts';
import { USER_NAME } from '../../../api/submit/user-name.ts';
import { operation, type Schema, type Zod } from '../../../api/operations/operation.ts';

const userNameSchema = (z: Zod) => z.string().regex(USER_NAME).describe('The name in journals.');

const roleSchema = (z: Zod) =>
  z.enum(ROLES).describe(`What the user may do, see docs/fleet.md: ${ACCESSES.join(', ')}.`);

const repositoriesSchema = (z: Zod) =>
  z
    .array(z.string().min(1).max(4096))
    .min(1)
    .max(1000)
    .describe('Paths and addresses of the only repositories; `*` stands for any text.');

const tokenFields = (z: Zod) => ({
  id: z.string().describe('The part between `halo_` and the second `_`.'),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string().optional(),
});

/** A user with the tokens that they have. */
const userSchema: Schema = (z) =>
  z.object({
    name: z.string(),
    role: z.enum(ROLES),
    repositories: z.array(z.string()).optional(),
    createdAt: z.string(),
    createdBy: z.string(),
    tokens: z.array(
      z.object({
        ...tokenFields(z),
        usedAt: z.string().optional().describe('The last use, to the minute.'),
        session: z
          .enum(['oidc', 'token'])
          .optional()
          .describe('It is the session of a browser, which signed in through the provider or with a token.'),
      }),
    ),
  });

/** A token that was just made. */
const createdTokenSchema: Schema = (z) =>
  z.object({
    user: z.string(),
    id: z.string(),
    token: z.string().describe('Shown only now; the server keeps its hash.'),
    expiresAt: z.string().optional(),
  });

export const userOperations = {
  listUsers: operation({
    method: 'GET',
    path: '/v1/users',
    access: 'administer',
    everywhere: true,
    summary: 'Lists the users of this server with their roles, repositories and tokens.',
    input: (z) => z.strictObject({}),
    output: { kind: 'json', schema: (z) => z.object({ users: z.array(userSchema(z)) }) },
    async run({ host }) {
      const { Users } = await import('../../../api/access/users.ts');
      return { users: await new Users(host.home).list() };
    },
  }),
  addUser: operation({
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
      const { Users } = await import('../../../api/access/users.ts');
      return new Users(host.home).add(user, { by, now: new Date() });
    },
  }),
  changeUser: operation({
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
      const { Users } = await import('../../../api/access/users.ts');
      return new Users(host.home).change(name, change, { by, now: new Date() });
    },
  }),
  removeUser: operation({
    method: 'POST',
    path: '/v1/users/{name}/remove',
    access: 'administer',
    everywhere: true,
    summary: 'Removes a user; all of their tokens stop working immediately.',
    output: { kind: 'json', schema: (z) => z.object({ name: z.string() }) },
    async run({ host, by }, { name }) {
      const { Users } = await import('../../../api/access/users.ts');
      await new Users(host.home).remove(name, { by, now: new Date() });
      return { name };
    },
  }),
  createToken: operation({
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
      const { Users } = await import('../../../api/access/users.ts');
      const end = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
      return new Users(host.home).createToken(name, end, { by, now: new Date() });
    },
  }),
  revokeToken: operation({
    method: 'POST',
    path: '/v1/tokens/{id}/revoke',
    access: 'administer',
    everywhere: true,
    summary: 'Revokes a token by its id; it stops working immediately.',
    output: { kind: 'json', schema: (z) => z.object({ id: z.string(), user: z.string() }) },
    async run({ host, by }, { id }) {
      const { Users } = await import('../../../api/access/users.ts');
      const revoked = await new Users(host.home).revokeToken(id, { by, now: new Date() });
      return { id: revoked.id, user: revoked.user };
    },
  }),
  readAccessLog: operation({
    method: 'GET',
    path: '/v1/access-log',
    access: 'administer',
    everywhere: true,
    summary:
      'Returns changes of users and tokens, sign-ins, refused tokens, denied operations and drained workers, the latest first.',
    input: (z) =>
      z.strictObject({
        since: z.iso.datetime({ offset: true }).optional().describe('Only events at or after this time.'),
        limit: z.coerce.number().int().min(1).max(10_000).default(100),
      }),
    example: { limit: 20 },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          events: z.array(
            z.object({
              at: z.string(),
              type: z.string(),
              user: z.string().optional().describe('Whom it concerns.'),
              token: z.string().optional().describe('The id of the token.'),
              worker: z.string().optional().describe('The id of the worker.'),
              by: z.string().optional().describe('Who changed users, tokens or workers.'),
              operation: z.string().optional(),
              from: z.string().optional().describe('The address of the client.'),
              reason: z.string().optional(),
              count: z
                .number()
                .int()
                .optional()
                .describe('The line stands for so many further denials within a minute.'),
            }),
          ),
        }),
    },
    async run({ host }, { since, limit }) {
      const { AccessLog } = await import('../../../store/access/access-log.ts');
      const from = since === undefined ? undefined : new Date(since).toISOString();
      return { events: await new AccessLog(host.home).read({ since: from, limit }) };
    },
  }),
};
