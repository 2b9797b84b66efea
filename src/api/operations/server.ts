import { ignore } from '../../lib/async.ts';
import { operation } from './operation.ts';
import { breakerSchema, outageSchema, workerSchema, shownSettingSchema, snapshotSchema } from './schemas.ts';

export const serverOperations = {
  listWorkers: operation({
    method: 'GET',
    path: '/v1/workers',
    access: 'read',
    summary: 'Lists the running workers, the oldest first, and the engines that take no stories.',
    output: {
      kind: 'json',
      schema: (z) => z.object({ workers: z.array(workerSchema(z)), outages: z.array(outageSchema(z)) }),
    },
    async run(context) {
      const { readLastingOutages, readWorkers } = await import('../runs/read-workers.ts');
      const [workers, outages] = await Promise.all([readWorkers(context), readLastingOutages(context.host.home)]);
      return { workers, outages };
    },
  }),
  drainWorker: operation({
    method: 'POST',
    path: '/v1/workers/{workerId}/drain',
    access: 'operate',
    everywhere: true,
    summary: 'Lets a worker finish the stories that it runs and take no others, until it is resumed or ends.',
    output: { kind: 'json', schema: workerSchema },
    async run(context, { workerId }) {
      const { setDraining } = await import('../runs/set-draining.ts');
      return setDraining(context, workerId, true);
    },
  }),
  resumeWorker: operation({
    method: 'POST',
    path: '/v1/workers/{workerId}/resume',
    access: 'operate',
    everywhere: true,
    summary: 'Lets a drained worker take stories again.',
    output: { kind: 'json', schema: workerSchema },
    async run(context, { workerId }) {
      const { setDraining } = await import('../runs/set-draining.ts');
      return setDraining(context, workerId, false);
    },
  }),
  readSettings: operation({
    method: 'GET',
    path: '/v1/settings',
    access: 'administer',
    everywhere: true,
    summary:
      'Returns the settings that a run has without a configuration of its repository, with their origins. Values that may contain secrets are left out.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) => z.object({ settings: z.array(shownSettingSchema(z)) }),
    },
    async run({ host }) {
      const { readShownSettings } = await import('../repository/repo-config.ts');
      return { settings: await readShownSettings(host) };
    },
  }),
  readDoctor: operation({
    method: 'GET',
    path: '/v1/doctor',
    access: 'administer',
    everywhere: true,
    summary:
      'Returns the checks of `halo doctor` that start no container, of the machine of the server; at most one minute old.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          at: z.string().describe('When the checks ran, in ISO 8601.'),
          findings: z.array(
            z.object({
              name: z.string(),
              ok: z.enum(['ok', 'warn', 'fail']),
              says: z.string(),
              fix: z.string().exactOptional(),
            }),
          ),
          skipped: z.array(z.string()).describe('Checks that need a container: `halo doctor` on the server runs them.'),
        }),
    },
    async run({ host }) {
      const { diagnoseCheaply } = await import('../doctor/diagnose.ts');
      return diagnoseCheaply(host);
    },
  }),
  listBreakers: operation({
    method: 'GET',
    path: '/v1/breakers',
    access: 'read',
    summary: 'Lists the circuit breakers that are not closed.',
    input: (z) =>
      z.strictObject({
        shared: z
          .union([z.literal(true), z.literal('true')])
          .transform(() => true as const)
          .optional()
          .describe('Only those of repositories and providers, not those of single runs: faster.'),
      }),
    output: {
      kind: 'json',
      schema: (z) => z.object({ breakers: z.array(breakerSchema(z)) }),
    },
    async run(context, { shared = false }) {
      const { listBreakers } = await import('../runs/breakers.ts');
      return { breakers: await listBreakers(context, { shared }) };
    },
  }),
  resetBreaker: operation({
    method: 'POST',
    path: '/v1/breakers/reset',
    access: 'operate',
    summary: 'Closes a circuit breaker, by its key, its repository or its run, and returns its full key.',
    input: (z) => z.strictObject({ key: z.string().min(1) }),
    example: { key: 'provider:api.openai.com' },
    output: { kind: 'json', schema: (z) => z.object({ key: z.string() }) },
    async run(context, { key }) {
      const [{ resetBreaker }, { openKeeper }, { continueRun }] = await Promise.all([
        import('../runs/breakers.ts'),
        import('./control-request.ts'),
        import('../../worker/run/continue-run.ts'),
      ]);
      const { store, breakers, caller, openQueue } = context;
      // Without a queue, workers find the runs when they compare the journals with it.
      const proceed = (runId: string) => continueRun(openKeeper(context), { runId, openQueue }).catch(ignore);
      return { key: await resetBreaker({ store, breakers, caller, proceed }, key) };
    },
  }),
  listSnapshots: operation({
    method: 'GET',
    path: '/v1/snapshots',
    access: 'read',
    everywhere: true,
    summary: 'Lists the snapshots of what setup installed, the last used first.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) => z.object({ snapshots: z.array(snapshotSchema(z)) }),
    },
    async run({ host }) {
      const { listSnapshots } = await import('../snapshots/snapshots.ts');
      return { snapshots: await listSnapshots(host.home) };
    },
  }),
  removeSnapshots: operation({
    method: 'POST',
    path: '/v1/snapshots/remove',
    access: 'operate',
    everywhere: true,
    summary: 'Removes snapshots by the beginnings of their keys, or all; those in use stay.',
    input: (z) => z.strictObject({ keys: z.array(z.string().regex(/^[0-9a-f]{4,64}$/)).max(1000) }),
    example: { keys: ['042fe174'] },
    output: { kind: 'json', schema: (z) => z.object({ removed: z.array(z.string()), inUse: z.array(z.string()) }) },
    async run({ host }, { keys }) {
      const { removeSnapshots } = await import('../snapshots/snapshots.ts');
      return removeSnapshots(host.home, keys);
    },
  }),
};

/** What describes the server itself. */
export const descriptionOperations = {
  describeApi: operation({
    method: 'GET',
    path: '/v1/openapi.json',
    access: 'read',
    summary: 'Returns the OpenAPI 3.1 document of this API.',
    output: { kind: 'json', schema: (z) => z.looseObject({ openapi: z.string() }) },
    run: async (context) => context.describe(),
  }),
};
