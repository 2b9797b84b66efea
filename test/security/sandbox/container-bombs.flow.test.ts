import { describe, expect } from 'vitest';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { attack, EAT, expectNoResidue, expectOutOfMemory, LIMITS } from './hostile-agent.ts';

/** Limits that halo itself applies, and what it says of them; those of the engine are in container-bombs.docker.test.ts. */

const MIB = 1024 ** 2;

describe('attack 17: a hostile agent', () => {
  it('prints without end: it is killed, and a limited part of the output is kept', async ({ halo }) => {
    const before = process.memoryUsage().rss;
    const { state, story, says } = await attack(halo, 'yes flood', { settings: ['limits.output="4m"'] });
    expect(story).toBe('ENGINE_ERROR');
    expect(says).toContain('(limits.output)');
    expect(halo.readFile(state.runId, 'events.jsonl').length).toBeLessThan(5 * MIB);
    expect(process.memoryUsage().rss).toBeLessThan(before + 300 * MIB);
  });

  it('writes one endless file, and prints errors without end: they stop at the file size limit, and the last part is kept with the number of missing bytes', async ({
    halo,
  }) => {
    const file = `head -c 300000000 /dev/zero > big; ls -l big | cut -d' ' -f5 > size; rm big`;
    const errors = `head -c 20000 /dev/zero | tr '\\0' x >&2; echo the end >&2`;
    const settings = ['limits.file_size="16m"'];
    const { state, repository } = await attack(halo, `{ ${file}; } 2> /dev/null; ${errors}; ${OK}`, { settings });
    expect(state.stopReason).toBe('SUCCESS');
    expect(repository.git('show', `halo/${state.runId}:size`)).toBe(String(16 * MIB));
    const kept = halo.readFile(state.runId, `artifacts/${storyKey('US-1')}/1/agent.stderr.log`);
    // Of 20000 and the last line, all but 8 KiB.
    expect(kept.slice(0, kept.indexOf(']') + 1)).toBe(`[halo: ${20_008 - 8_192} bytes are missing here]`);
    expect(kept).toMatch(/xxxthe end\n$/);
  });

  it('ignores signals and never ends (hazards 19, 20): it reaches the time limit', async ({ halo }) => {
    const endless = `trap '' TERM INT HUP; while :; do echo .; sleep 0.1; done`;
    const { story, says } = await attack(halo, endless, { settings: ['limits.wall="1s"'] });
    expect(story).toBe('TIMEOUT');
    expect(says).toContain('(limits.wall)');
  });

  it('is silent (hazard 19): it reaches the limit of silence', async ({ halo }) => {
    const { story, says } = await attack(halo, `trap '' TERM; sleep 600`, { settings: ['limits.idle="1s"'] });
    expect(story).toBe('TIMEOUT');
    expect(says).toContain('(limits.idle)');
  });

  it('allocates memory in a gate (hazard 13): it ends with OUT_OF_MEMORY', async ({ halo }) => {
    expectOutOfMemory(await attack(halo, `echo x > x; ${OK}`, { gates: [EAT] }));
  });

  it('leaves gates that fork without end: they fail with a reason', async ({ halo }) => {
    const gates = ['i=0; while [ $i -lt 99 ]; do sleep 9 & i=$((i+1)); done'];
    const { story, says } = await attack(halo, `echo x > x; ${OK}`, { gates });
    expect(story).toBe('GATE_FAILED');
    expect(says).toContain('(limits.pids = ');
  });
});

describe('attack 15: a hostile agent', () => {
  it('runs under a separate user among concurrent attempts', async ({ halo }) => {
    const repositories = [newRepository({}), newRepository({})];
    const settings = scripted(`id -u > uid; sleep 1; ${OK}`, [], LIMITS);
    const states = await Promise.all(repositories.map(({ root }) => halo.run(root, [{ id: 'A' }], settings)));
    for (const { runId } of states) await expectNoResidue(runId);
    const users = repositories.map(({ git }, index) => git('show', `halo/${states[index]!.runId}:uid`));
    expect(Number(users[0])).toBeGreaterThanOrEqual(20_000);
    expect(users[0]).not.toBe(users[1]);
  });
});
