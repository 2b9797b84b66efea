import type { AccessEvent } from '../../../core/access/access-event.ts';
import type { Operation } from '../operation.ts';

type Input = { since?: string | undefined; limit: number };

export const readAccessLogOperation: Operation<Input, { events: AccessEvent[] }> = {
  name: 'readAccessLog',
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
            count: z.number().int().optional().describe('The line stands for so many further denials within a minute.'),
          }),
        ),
      }),
  },
  async run({ host }, { since, limit }) {
    const { AccessLog } = await import('../../../store/access/access-log.ts');
    const from = since === undefined ? undefined : new Date(since).toISOString();
    return { events: await new AccessLog(host.home).read({ since: from, limit }) };
  },
};
