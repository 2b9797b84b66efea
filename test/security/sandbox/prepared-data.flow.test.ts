import { describe, expect } from 'vitest';
import { ask, keyValueService } from '../../features/services/key-value-service.ts';
import type { StopReason } from '../../../src/core/failure/stop-reason.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Prepared by a script that is not listed, as tools of migrations are often not. */
const FILES = { 'migrations.txt': 'one\n', 'prepare.sh': ask('set genuine') };
const EVIL = `printf '%s' ${JSON.stringify(ask('set evil'))} > prepare.sh`;
const PREPARED = { prepare: ['sh prepare.sh'], prepare_files: ['migrations.txt'] };
const IS_GENUINE = `test "$(${ask('get')})" = genuine`;

describe('incident prepared-data: the data with which a service begins', () => {
  test('does not depend on what a story changes beside the listed files, nor on what commands write', async ({
    halo,
  }) => {
    const { root } = newRepository(FILES);
    const run = (agent: string) =>
      halo.run(root, [{ id: 'A' }], scripted(`${agent}; date > now.txt; ${OK}`, [`${IS_GENUINE} && ${ask('set evil')}`, IS_GENUINE], keyValueService({ ...PREPARED, for: ['gates'] }))); // prettier-ignore
    expect((await run(EVIL)).stopReason).toBe('SUCCESS');
    expect((await run('true')).stopReason).toBe('SUCCESS');
  });

  type Row = readonly [name: string, gate: string, stopReason: StopReason];
  test.for(
    casesAtLevel<Row>(
      [['lands, which a person may still reject,', 'true', 'SUCCESS']],
      [['does not land', 'false', 'GATE_FAILED']],
    ),
  )('of a story that %s serves no other run', async ([, gate, stopReason], { halo }) => {
    const { root } = newRepository(FILES);
    const run = (agent: string, verdict: string) =>
      halo.run(
        root,
        [{ id: 'A' }],
        scripted(`echo two > migrations.txt; ${agent}; ${OK}`, [verdict], keyValueService(PREPARED)),
      );
    expect((await run(EVIL, gate)).stopReason).toBe(stopReason);
    expect((await run('true', IS_GENUINE)).stopReason).toBe('SUCCESS');
  });
});
