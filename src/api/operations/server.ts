import { HaloError } from '../../core/failure/errors.ts';
import { hasRetention } from '../../core/retention/retention.ts';
import { ignore } from '../../lib/async.ts';
import { parseDuration, parseSize } from '../../lib/units.ts';
import { operation, type Zod } from './operation.ts';
import { breakerSchema, workerSchema } from './schemas.ts';

const duration = (z: Zod) =>
  z.string().refine((text) => parseDuration(text) !== undefined, 'must be a duration, like "30d"');

const size = (z: Zod) => z.string().refine((text) => parseSize(text) !== undefined, 'must be a size, like "20g"');

export const serverOperations = {
  listWorkers: operation({
    method: 'GET',
    path: '/v1/workers',
    access: 'read',
    summary: 'Lists the running workers, the oldest first.',
    output: {
      kind: 'json',
      schema: (z) => z.object({ workers: z.array(workerSchema(z)) }),
    },
    async run(context) {
      const { readWorkers } = await import('../runs/read-workers.ts');
      return { workers: await readWorkers(context) };
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
      schema: (z) =>
        z.object({
          settings: z.array(
            z.object({
              key: z.string(),
              value: z.unknown().describe('Null: not set, or hidden.'),
              origin: z.string().describe('`default`, a file with its line, or an environment variable.'),
              hidden: z.literal(true).exactOptional().describe('The value may contain secrets.'),
            }),
          ),
        }),
    },
    async run({ host }) {
      const { readShownSettings } = await import('../repository/shown-settings.ts');
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
      schema: (z) => {
        const snapshot = z.object({
          key: z.string().describe('SHA-256 of what decides when it is used.'),
          repo: z.string(),
          state: z.enum(['ready', 'refused']),
          reason: z.string().nullable().describe('Why the result of setup cannot be a snapshot.'),
          digest: z.string().nullable().describe('SHA-256 of its contents.'),
          bytes: z.number(),
          files: z.number(),
          setup: z.array(z.string()),
          inputs: z.array(z.string()).nullable().describe('Files that decide when it is used; null: the whole tree.'),
          wholeTree: z.string().nullable().describe('Why the whole tree decides.'),
          onlyRun: z
            .string()
            .nullable()
            .describe('The only run that may use it, until the commit of which it was made has landed.'),
          createdAt: z.string(),
          usedAt: z.string(),
        });
        return z.object({ snapshots: z.array(snapshot) });
      },
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
  prune: operation({
    method: 'POST',
    path: '/v1/prune',
    access: 'administer',
    everywhere: true,
    summary:
      'Removes artifacts of ended runs, and whole runs, that `[keep]` does not keep, and what belongs to no run. Requests over the network may set limits only with `dryRun`.',
    input: (z) =>
      z.strictObject({
        dryRun: z.boolean().optional().describe('Only report what would be removed.'),
        artifacts: duration(z).optional().describe('Overrides `keep.artifacts`.'),
        runs: z.number().int().min(0).max(1_000_000).optional().describe('Overrides `keep.runs`.'),
        journals: duration(z).optional().describe('Overrides `keep.journals`.'),
        maxSize: size(z).optional().describe('Overrides `keep.max_size`.'),
      }),
    example: { dryRun: true, artifacts: '30d' },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          removed: z.array(
            z.object({
              runId: z
                .string()
                .nullable()
                .describe('Null for a mirror that no run uses, and for the cache of registries.'),
              mirror: z.string().nullable(),
              what: z.enum(['artifacts', 'run', 'mirror', 'cache']),
              bytes: z.number(),
              why: z.string(),
            }),
          ),
          bytes: z.number().describe('The sizes of all of them.'),
          heldBack: z
            .array(z.object({ runId: z.string(), why: z.string() }))
            .describe('Ended runs that stay whatever the limits are.'),
          failed: z
            .array(z.object({ runId: z.string().nullable(), mirror: z.string().nullable(), error: z.string() }))
            .describe('Runs that cannot be read or removed, and mirrors that cannot be removed.'),
          excessBytes: z
            .number()
            .describe(
              'By how much the runs that must stay are larger than the maximum size, in bytes; 0 if they are not.',
            ),
          hasLimits: z.boolean().describe('Without limits, only what belongs to no run is removed.'),
        }),
    },
    async run({ host, store, by, remote }, request, signal) {
      const { toLimits, reportPrune } = await import('../retention/retention-report.ts');
      const asked = toLimits(request);
      if (remote && !request.dryRun && hasRetention(asked)) {
        throw new HaloError('CONFIG_INVALID', 'Requests over the network cannot set what is removed.', {
          hint: 'Set `[keep]` in config.toml of the server, or run `halo prune` there.',
        });
      }
      return reportPrune({ home: host.home, store, by, signal }, request);
    },
  }),
};

/** What describes the server itself. */
export const descriptionOperations = {
  readMetrics: operation({
    method: 'GET',
    path: '/metrics',
    access: 'read',
    everywhere: true,
    summary: 'Returns metrics of all runs in the text format of Prometheus; docs/monitoring.md describes them.',
    output: { kind: 'bytes', mediaType: 'text/plain; version=0.0.4; charset=utf-8' },
    async run(context) {
      const { readMetrics } = await import('../metrics/read-metrics.ts');
      return Buffer.from(await readMetrics(context));
    },
  }),
  describeApi: operation({
    method: 'GET',
    path: '/v1/openapi.json',
    access: 'read',
    summary: 'Returns the OpenAPI 3.1 document of this API.',
    output: { kind: 'json', schema: (z) => z.looseObject({ openapi: z.string() }) },
    run: async (context) => context.describe(),
  }),
};
