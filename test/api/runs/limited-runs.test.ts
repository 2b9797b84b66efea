import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLimitedRuns } from '../../../src/api/runs/limited-runs.ts';
import type { RunQuery } from '../../../src/store/run/run-list.ts';
import { created, stateOf } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

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
