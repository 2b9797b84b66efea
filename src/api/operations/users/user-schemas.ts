import { ROLES, ACCESSES } from '../../../core/access/access.ts';
import { USER_NAME } from '../../submit/user-name.ts';
import type { Schema, Zod } from '../operation.ts';

export const userNameSchema = (z: Zod) => z.string().regex(USER_NAME).describe('The name in journals.');

export const roleSchema = (z: Zod) =>
  z.enum(ROLES).describe(`What the user may do, see docs/access.md: ${ACCESSES.join(', ')}.`);

export const repositoriesSchema = (z: Zod) =>
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
export const userSchema: Schema = (z) =>
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
export const createdTokenSchema: Schema = (z) =>
  z.object({
    user: z.string(),
    id: z.string(),
    token: z.string().describe('Shown only now; the server keeps its hash.'),
    expiresAt: z.string().optional(),
  });
