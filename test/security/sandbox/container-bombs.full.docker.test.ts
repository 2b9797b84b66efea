import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { attack, EAT, expectNoResidue, expectOutOfMemory } from './hostile-agent.ts';

describe('attack 17, incident endless-depth: a hostile agent', () => {
  it('creates nested folders, deeper than the engine may have files open: all are removed', async ({ halo }) => {
    const dig = `python3 -c "
import os
for i in range(21000):
    os.mkdir('d'); os.chdir('d')"`;
    const { state } = await attack(halo, `${dig}; echo x > x; ${OK}`);
    expect(state.status).toBe('ended');
  });
});

describe('attack 17: a hostile agent', () => {
  it('starts ten thousand idle processes (hazard 14): they end with it, and another story is not affected', async ({
    halo,
  }) => {
    const idle = `i=0; while [ $i -lt 10000 ]; do sleep 600 & i=$((i+1)); done; wait`;
    const [{ story }, unharmed] = await Promise.all([
      attack(halo, idle, { settings: ['limits.wall="10s"'] }),
      halo.run(newRepository().root, [{ id: 'B' }], scripted(`echo x > x; ${OK}`, [], ['limits.memory="256m"'])),
    ]);
    expect(['ENGINE_ERROR', 'TIMEOUT']).toContain(story);
    expect(unharmed.stopReason).toBe('SUCCESS');
    await expectNoResidue(unharmed.runId);
  });

  it.for<[string, string, string[]]>([
    ['itself', `exec ${EAT}`, []],
    ['in a gate', `echo x > x; ${OK}`, [EAT]],
    ['in a child of a gate', `echo x > x; ${OK}`, [`${EAT}; exit 1`]],
  ])('allocates memory %s (hazard 13): it ends with OUT_OF_MEMORY', async ([, agent, gates], { halo }) =>
    expectOutOfMemory(await attack(halo, agent, { gates })),
  );

  it('creates files without end (hazard 17): it is killed', async ({ halo }) => {
    const fill = `python3 -c "
import os
n = 0
while True:
    n += 1
    open(f'f{n}', 'x').close()"`;
    expect((await attack(halo, fill, { settings: ['limits.disk="64m"'] })).says).toContain('(limits.disk)');
  });
});
