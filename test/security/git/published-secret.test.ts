import { describe, expect } from 'vitest';
import { it } from '../../worker/pulls/pull-world.ts';

describe('incident published-secret: a run with pull requests lands a commit that may have a secret', () => {
  it('is not pushed before a person has confirmed it, and neither is the next one', async ({
    forge,
    open,
    command,
  }) => {
    const run = await open(['A', 'B']);
    await run.suspect('A');
    await run.land('A');
    await run.pass();
    expect(forge.log).toEqual([]);
    const refusal = `A: k.txt adds a GitHub token. Review it with \`halo diff ${run.runId}\`, then confirm what it has: \`halo pr ${run.runId} --confirm secret\`.`;
    expect((await command(['status', run.runId])).stdout).toContain(refusal);
    await expect(command(['pr', run.runId])).resolves.toMatchObject({ code: 6 });
    await command(['pr', run.runId, '--no-wait', '--confirm', 'secret']);
    await run.pass();
    expect(forge.pulls.all).toMatchObject([{ branch: run.branch }]);
    const published = run.head();
    await run.suspect('B');
    const next = await run.land('B');
    await run.end();
    await run.pass();
    expect(run.head(), 'the next one is another secret').toBe(published);
    await command(['pr', run.runId, '--confirm', 'secret']);
    await run.pass();
    expect(run.head()).toBe(next);
  });
});
