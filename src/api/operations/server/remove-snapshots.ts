import type { Operation } from '../operation.ts';

export const removeSnapshotsOperation: Operation<{ keys: string[] }, { removed: string[]; inUse: string[] }> = {
  name: 'removeSnapshots',
  method: 'POST',
  path: '/v1/snapshots/remove',
  access: 'operate',
  everywhere: true,
  summary: 'Removes snapshots by the beginnings of their keys, or all; those in use stay.',
  input: (z) => z.strictObject({ keys: z.array(z.string().regex(/^[0-9a-f]{4,64}$/)).max(1000) }),
  example: { keys: ['042fe174'] },
  output: { kind: 'json', schema: (z) => z.object({ removed: z.array(z.string()), inUse: z.array(z.string()) }) },
  async run({ host }, { keys }) {
    const { removeSnapshots } = await import('../../snapshots/snapshots.ts');
    return removeSnapshots(host.home, keys);
  },
};
