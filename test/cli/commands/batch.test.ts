import { beforeEach, describe, expect, it } from 'vitest';
import { created } from '../../support/journal.ts';
import { openMemory, type MemoryOperations } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

let operations: MemoryOperations;
const halo = (...args: string[]) => runCli(args, { operations });

beforeEach(() => {
  operations = openMemory();
  for (const [id, runId] of [
    ['0tbq4m7z6c1bjfw', '0tbq4m8k7xw2dhe'],
    ['0tbq4m9c3r8vkzp', '0tbq4ma1h5n0qyt'],
  ] as const) {
    const first = created(runId, 1);
    if (first.type !== 'run.created') throw new Error('a run is created first');
    operations.addRun([{ ...first, batch: { id, name: 'core', place: 0 } }]);
  }
});

describe('halo batch', () => {
  it('accepts any unique part of an id, as for runs: ids of the same day start with the same characters', async () => {
    expect((await halo('batch', 'bjfw')).stdout).toContain('0tbq4m8k7xw2dhe');
    expect((await halo('logs', '--batch', 'VKZP')).stdout).toContain('0tbq4ma1h5n0qyt');
  });

  it('names the number of batches that a part matches', async () => {
    const several = await halo('batch', '0tbq');
    expect(several).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('2 batches have ids with "0tbq".') as string,
    });
    expect((await halo('batch', 'xyz')).stderr).toContain('There is no batch "xyz".');
  });
});
