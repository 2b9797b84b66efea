import { describe, expect } from 'vitest';
import { omit } from '../../../src/core/run/state.ts';
import { attempted, passed } from '../../support/journal.ts';
import { it } from '../../features/pulls/pull-world.ts';

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
    expect(forge.pulls.all).toEqual([]);
    expect(() => run.head()).toThrow();
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

  it('is not pushed with the history either, after the story was sent back and reworked', async ({ open, command }) => {
    const run = await open(['A', 'B']);
    await run.suspect('A');
    await run.land('A');
    await run.end();
    await run.sendBack('A', 'Remove the key.');
    await run.pass();
    expect(() => run.head(), 'sent back').toThrow();
    await run.append({ type: 'phase.started', phase: 'import', story: 'A', attempt: 2 });
    const clean = await run.land('A');
    expect((await run.state()).stories[0]).not.toHaveProperty('suspects');
    await run.pass();
    expect(() => run.head(), 'reworked').toThrow();
    await run.end();
    await expect(run.landRun()).rejects.toMatchObject({ code: 'UNCONFIRMED' });
    await command(['pr', run.runId, '--no-wait', '--confirm', 'secret']);
    await run.pass();
    expect(run.head()).toBe(clean);
  });

  it('is not pushed either after an attempt that changed nothing, and not for a run that a person has landed', async ({
    forge,
    open,
    command,
  }) => {
    const run = await open(['A']);
    await run.suspect('A');
    await run.land('A');
    await run.end();
    await run.sendBack('A', 'Is it an example?');
    await run.append(...attempted('A', 2), { type: 'phase.started', phase: 'import', story: 'A', attempt: 2 });
    await run.append(
      ...passed('A').flatMap((each) => (each.type === 'story.ended' ? [omit({ ...each, attempt: 2 }, 'commit')] : [])),
    );
    await run.end();
    expect((await run.state()).stories[0]).toMatchObject({ progress: 'passed', commit: expect.any(String) as string });
    await run.pass();
    expect(() => run.head()).toThrow();
    await expect(run.landRun()).rejects.toMatchObject({ code: 'UNCONFIRMED' });
    await run.landRun({ confirm: ['secret'] });
    await run.pass();
    expect(forge.pulls.all).toEqual([]);
    expect((await command(['status', run.runId])).stdout).not.toContain('has to be confirmed');
    expect(run.files('pull-requests')).toEqual([]);
  });

  it('can be confirmed for the next pull request of a stack after people have merged those before', async ({
    forge,
    open,
    command,
  }) => {
    const run = await open(['A', 'B'], ['land.mode="pr"', 'land.pull_requests="story"']);
    await run.land('A');
    await run.pass();
    forge.pulls.all[0]!.state = 'merged';
    await run.pass();
    expect((await run.state()).pull).toMatchObject({ ended: 'merged' });
    await run.suspect('B');
    await run.land('B');
    await run.end();
    await run.pass();
    expect(forge.pulls.all).toHaveLength(1);
    const { code, stderr } = await command(['pr', run.runId, '--no-wait', '--confirm', 'secret']);
    expect(code, stderr).toBe(0);
    await run.pass();
    expect(forge.pulls.all).toHaveLength(2);
  });
});
