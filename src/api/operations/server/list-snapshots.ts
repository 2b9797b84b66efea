import type { SnapshotView } from '../../snapshots/snapshots.ts';
import type { Operation } from '../operation.ts';

export const listSnapshotsOperation: Operation<object, { snapshots: SnapshotView[] }> = {
  name: 'listSnapshots',
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
    const { listSnapshots } = await import('../../snapshots/snapshots.ts');
    return { snapshots: await listSnapshots(host.home) };
  },
};
