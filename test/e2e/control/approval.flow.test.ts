import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, prdOf, scripted, type TestStory } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';

const QUICK = `echo x >> x; ${OK}`;

describe('[approval] mode', () => {
  it('story holds each commit that passed its gates until it is approved, and the proof names the approver', async ({
    halo,
    repository,
  }) => {
    const settings = scripted(QUICK, ['true'], ['approval.mode=story']);
    const held = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(held).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{ held: { paths: [] } }, {}] });
    expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
    const decide = { code: 'CONTROL_REFUSED', hint: expect.stringContaining('`halo approve`') as string };
    await expect(halo.operations.retry({ runId: held.runId })).rejects.toMatchObject(decide);
    await expect(halo.operations.resume({ runId: held.runId })).rejects.toMatchObject(decide);
    await halo.operations.actingAs('ann@desk').approve({ runId: held.runId, story: 'A' });
    const next = await halo.untilEnd(held.runId);
    expect(next).toMatchObject({ stories: [{ progress: 'passed' }, { progress: 'needs_human' }] });
    const note = repository.git('notes', '--ref=halo', 'show', next.stories[0]!.commit!);
    expect(JSON.parse(note)).toMatchObject({ approved: true, approvedBy: 'ann@desk' });
    expect(halo.readFile(held.runId, 'agent.log')).toContain('by ann@desk');
  });

  it('run holds the branch until the run is approved', async ({ halo, repository }) => {
    const settings = scripted(QUICK, ['true'], ['approval.mode=run']);
    const { runId, tip } = await halo.run(repository.root, [{ id: 'A' }], settings);
    const { operations } = halo;
    expect((await operations.getRun({ runId })).state).toMatchObject({ needsApproval: true });
    await expect(operations.land({ runId })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    await operations.reject({ runId, reason: 'not yet' });
    await expect(operations.land({ runId })).rejects.toMatchObject({
      message: expect.stringContaining('not yet') as string,
    });
    expect(await operations.actingAs('ann@desk').approve({ runId })).toEqual({ runId, changed: true, tip });
    expect(await operations.approve({ runId })).toEqual({ runId, changed: false, tip });
    expect(JSON.parse(repository.git('notes', '--ref=halo', 'show', tip))).toMatchObject({ approvedBy: 'ann@desk' });
    expect(await operations.land({ runId })).toMatchObject({ branch: 'main', to: tip });
  });
});

describe('a PRD that has changed', () => {
  const changed = it
    .extend('write', ({ home }) => (stories: TestStory[]) => {
      const path = join(home, 'prd.json');
      const { bytes } = prdOf(stories);
      writeFileSync(path, bytes);
      return { path, bytes };
    })
    .extend('pausedRun', ({ halo, repository, write }) => async (stories: TestStory[]) => {
      const [submitted] = (
        await halo.operations.submit({
          prd: write(stories),
          repos: [repository.root],
          profile: undefined,
          set: scripted(`test -e x || { ${HOLD}; }; ${QUICK}`),
          allowDirty: false,
        })
      ).runs;
      const { runId } = submitted!;
      for await (const { event } of await halo.operations.followEvents({ runId, after: 0, follow: true }))
        if (event.type === 'phase.started' && event.phase === 'agent') break;
      await halo.operations.pause({ runId, now: false });
      await release(runId);
      for await (const { event } of await halo.operations.followEvents({ runId, after: 0, follow: true }))
        if (event.type === 'story.ended') break;
      return runId;
    });

  changed(
    'is refused on resume, and taken with replan: what landed stays, the rest follows the file',
    async ({ halo, home, pausedRun, repository, write }) => {
      const runId = await pausedRun([{ id: 'A' }, { id: 'B' }, { id: 'C' }]);
      write([{ id: 'A', passes: true }, { id: 'B', title: 'Another' }, { id: 'D' }]);
      await expect(halo.operations.resume({ runId })).rejects.toMatchObject({
        code: 'CONTROL_REFUSED',
        message: expect.stringContaining('changed: B; new: D; gone: C') as string,
      });
      expect(await halo.operations.resume({ runId, replan: {} })).toMatchObject({ stories: ['B', 'D'] });
      const ended = await halo.untilEnd(runId);
      const progress = ended.stories.map(({ id, title, progress }) => [id, title, progress]);
      expect(progress).toEqual([
        ['A', 'Story A', 'passed'],
        ['B', 'Another', 'passed'],
        ['D', 'Story D', 'passed'],
        ['C', 'Story C', 'skipped'],
      ]);
      expect(Number(repository.git('rev-list', '--count', `main..halo/${runId}`))).toBe(3);
      expect((await halo.operations.resume({ runId, replan: {} })).says).toContain('nothing to do');
      rmSync(join(home, 'prd.json'));
      await expect(halo.operations.resume({ runId, replan: {} })).rejects.toMatchObject({
        code: 'CONTROL_REFUSED',
        message: `The PRD ${join(home, 'prd.json')} is not on this machine.`,
      });
    },
  );

  changed('is the same when only progress was marked', async ({ halo, pausedRun, write }) => {
    const runId = await pausedRun([{ id: 'A' }, { id: 'B' }]);
    write([{ id: 'A', passes: true }, { id: 'B' }]);
    await halo.operations.resume({ runId });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
  });
});
