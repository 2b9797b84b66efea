import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLimitedRuns } from '../../../src/api/runs/limited-runs.ts';
import type { RunQuery } from '../../../src/store/run/run-list.ts';
import { created, stateOf } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('an open run names its engines, unless that is only the engine of the environment', async () => {
  const home = tempDir('halo-limits');
  const list = () => Promise.reject(new Error('no limit is set'));
  const limited = openLimitedRuns(home, { list });
  const run = stateOf(created('0000000000000aa'));
  expect(await limited.of(run)).toEqual({});
  writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "b"\naddress = "unix:///b"\nlabels = ["gpu"]\n');
  expect(await limited.of(run)).toEqual({ engines: ['local', 'b'] });
  expect(await limited.of({ ...run, engineLabels: ['gpu'] })).toEqual({ engines: ['b'] });
  expect(await limited.of({ ...run, engineLabels: ['arm'] })).toEqual({ engines: [] });
  expect(await limited.of({ ...run, status: 'ended' })).toEqual({});
});

test('a search in many parts reads the runs that a limit counts once', async () => {
  const home = tempDir('halo-limits');
  writeFileSync(join(home, 'config.toml'), '[fleet]\nmax = 1\n');
  const waiting = stateOf(created('0000000000000aa'));
  let reads = 0;
  const limited = openLimitedRuns(home, {
    async list({ started, mark }: RunQuery = {}) {
      if (started) reads += 1;
      for (let part = 0; part < 5; part += 1) await mark?.([waiting]);
      return { runs: [waiting], unreadable: [], omitted: { open: 0, ended: 0 } };
    },
  });
  expect((await limited.list({ state: 'paused' })).runs).toHaveLength(1);
  expect(reads).toBe(1);
});
