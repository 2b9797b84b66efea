import { operation, type OperationContext, type Zod } from '../../../api/operations/operation.ts';
import type { EngineKeys } from '../store/engine-keys.ts';

const engineSchema = (z: Zod) =>
  z.object({
    name: z.string(),
    address: z.string(),
    slots: z.number().int(),
    labels: z.array(z.string()),
    repositories: z.array(z.string()).optional().describe('The only ones that it is for; absent: all.'),
    users: z.array(z.string()).optional().describe('The only ones that it is for; absent: all.'),
    joined: z.boolean().describe('False: its machine has no certificate of this server yet.'),
    certificateEnds: z.string().optional().describe('When its certificate ends, ISO 8601; absent: unknown.'),
    drained: z.literal(true).optional().describe('It takes no stories until it is resumed.'),
    workers: z.array(
      z.object({
        id: z.string(),
        slots: z.number().int(),
        busy: z.number().int().describe('How many stories it runs.'),
        draining: z.boolean(),
        away: z.boolean().optional().describe('The engine does not answer, or lacks the image of halo.'),
      }),
    ),
  });

export const engineOperations = {
  listEngines: operation({
    method: 'GET',
    path: '/v1/engines',
    access: 'administer',
    everywhere: true,
    summary: 'Lists the `[[engines]]` of config.toml with their workers.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          engines: z.array(engineSchema(z)),
          keysEnd: z.string().optional().describe('When the authority or client certificate ends, ISO 8601.'),
        }),
    },
    async run(context) {
      return listEngines(context);
    },
  }),
};

/** Without Redis, no engine has workers. Throws CONFIG_INVALID. */
async function listEngines(context: OperationContext) {
  const { host } = context;
  const [{ readEngines }, { DEFAULT_SLOTS }, { EngineKeys }, { readWorkers }, { isEngineDrained }] = await Promise.all([
    import('../../../config/host-rules.ts'),
    import('../../../config/engine-address.ts'),
    import('../store/engine-keys.ts'),
    import('../../../api/runs/read-workers.ts'),
    import('../../../store/drained-engines.ts'),
  ]);
  const [engines, workers] = await Promise.all([readEngines(host.home), readWorkers(context)]);
  const keys = new EngineKeys(host.home);
  const ends = (await keys.ownEnds()).map(({ end }) => end.toISOString()).sort();
  const listed = await Promise.all(
    engines.map(async ({ name, address, slots = DEFAULT_SLOTS, labels = [], repositories, users, ca }) => ({
      ...{ name, address, slots, labels },
      ...(repositories && { repositories }),
      ...(users && { users }),
      joined: await keys.hasJoined({ name, address, ca }),
      ...(await endOf(keys, name)),
      ...((await isEngineDrained(host.home, name)) && { drained: true as const }),
      workers: workers
        .filter(({ engine }) => engine === name)
        .map(({ id, slots = 0, busy = 0, draining, away }) => ({ id, slots, busy, draining, ...(away && { away }) })),
    })),
  );
  return { engines: listed, ...(ends[0] !== undefined && { keysEnd: ends[0] }) };
}

async function endOf(keys: EngineKeys, name: string): Promise<{ certificateEnds?: string }> {
  const end = await keys.certificateEnd(name);
  return end === undefined ? {} : { certificateEnds: end.toISOString() };
}
