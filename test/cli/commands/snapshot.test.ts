import { expect, it } from 'vitest';
import type { SnapshotView } from '../../../src/api/operations/schemas.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

const snapshot = (engine: string | null): SnapshotView => ({
  ...{
    key: 'a'.repeat(64),
    repo: 'shop',
    engine,
    state: 'ready',
    reason: null,
    digest: 'b'.repeat(64),
    bytes: 2048,
    files: 7,
  },
  ...{ setup: ['npm ci'], inputs: ['package-lock.json'], wholeTree: null, onlyRun: null },
  ...{ createdAt: '2030-01-02T09:00:00.000Z', usedAt: '2030-01-02T09:00:00.000Z' },
});

async function list(...engines: (string | null)[]): Promise<string> {
  const operations = openMemory();
  operations.listSnapshots = () => Promise.resolve({ snapshots: engines.map(snapshot) });
  return (await runCli(['snapshot', 'ls'], { operations })).stdout;
}

it('halo snapshot ls names engines as soon as one of them is not that of this machine', async () => {
  expect(await list('local', null)).not.toContain('ENGINE');
  expect(await list('local', 'build-2', null)).toMatch(/ENGINE[^]*local[^]*build-2[^]* - /);
});
