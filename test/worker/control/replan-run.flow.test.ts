import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { replanRun, resumeUnchanged } from '../../../src/worker/control/replan-run.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { it as base } from '../../support/fixtures.ts';
import { attempted, failed, passed } from '../../support/journal.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';

interface StoryFields {
  id: string;
  title?: string;
  acceptanceCriteria?: string[];
  priority?: number;
  passes?: boolean;
  skip?: boolean;
}

const prdWith = (stories: StoryFields[], more: object = {}) =>
  Buffer.from(
    JSON.stringify({ project: 'shop', ...more, userStories: stories.map((each) => ({ title: 'T', ...each })) }),
  );
const BEFORE: StoryFields[] = [{ id: 'A' }, { id: 'B', acceptanceCriteria: ['It adds up'] }];

/** A paused run of the PRD `BEFORE`, whose file is `prdPath`. */
const it = base.extend('run', async ({ home, repository }): Promise<IdleRun & { prdPath: string }> => {
  const prdPath = join(home, 'prd.json');
  writeFileSync(prdPath, prdWith(BEFORE));
  const run = await openIdleRun(home, repository, { stories: ['A', 'B'], prdPath });
  const prd = parsePrd(prdWith(BEFORE), prdPath);
  await run.append({ type: 'run.replanned', by: 'tess', prd, prdPath, changed: [] });
  await run.append({ type: 'run.paused', by: 'tess', now: false });
  return { ...run, prdPath };
});

describe('a paused run whose PRD file', () => {
  it.for<[string, Buffer]>([
    ['is unchanged', prdWith(BEFORE)],
    ['marks a story as done', prdWith([{ id: 'A', passes: true }, BEFORE[1]!])],
    ['has other spaces', Buffer.from(JSON.stringify(JSON.parse(prdWith(BEFORE).toString()), undefined, 4))],
  ])('%s is resumed', async ([, bytes], { run }) => {
    writeFileSync(run.prdPath, bytes);
    expect(await resumeUnchanged(run.keeper, run.request)).toMatchObject({ changed: true, says: 'Resumed.' });
    expect((await run.store.readState(run.runId)).paused).toBeUndefined();
    expect(run.queued).toHaveLength(1);
  });

  it('is gone is resumed', async ({ run }) => {
    rmSync(run.prdPath);
    expect(await resumeUnchanged(run.keeper, run.request)).toMatchObject({ says: 'Resumed.' });
  });

  it.for<[string, Buffer, string]>([
    ['changes a title', prdWith([{ id: 'A', title: 'Other' }, BEFORE[1]!]), 'changed: A.'],
    ['changes a criterion', prdWith([{ id: 'A' }, { id: 'B', acceptanceCriteria: ['It is 3'] }]), 'changed: B.'],
    ['has another story', prdWith([...BEFORE, { id: 'C' }]), 'new: C.'],
    ['lacks a story', prdWith([{ id: 'A' }]), 'gone: B.'],
    ['has other constraints', prdWith(BEFORE, { constraints: 'No network.' }), 'other texts, priorities or order.'],
    ['has another description', prdWith(BEFORE, { description: 'Other' }), 'other texts, priorities or order.'],
    ['has another order', prdWith([...BEFORE].reverse()), 'other texts, priorities or order.'],
    ['changes a priority', prdWith([{ id: 'A', priority: 7 }, BEFORE[1]!]), 'other texts, priorities or order.'],
    ['is not valid', Buffer.from('{'), 'is not valid'],
  ])('%s stays paused, with what differs', async ([, bytes, what], { run }) => {
    writeFileSync(run.prdPath, bytes);
    await expect(resumeUnchanged(run.keeper, run.request)).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      message: expect.stringContaining(what) as string,
    });
    expect((await run.store.readState(run.runId)).paused).toBeDefined();
    expect(run.queued).toEqual([]);
  });
});

describe('a run with the current PRD', () => {
  it('keeps what has landed, drops removed stories and runs new ones', async ({ run }) => {
    await run.append(...passed('A'));
    writeFileSync(run.prdPath, prdWith([{ id: 'A' }, { id: 'C' }]));
    const result = await replanRun(run.keeper, run.request, undefined);
    expect(result).toMatchObject({ says: 'Resumed with the current PRD: new: C; gone: B.', stories: ['C'] });
    const { stories, paused } = await run.store.readState(run.runId);
    expect(stories.filter(({ progress }) => progress === 'passed').map(({ id }) => id)).toEqual(['A']);
    expect(stories.filter(({ progress }) => progress === 'pending').map(({ id }) => id)).toEqual(['C']);
    expect(paused).toBeUndefined();
  });

  it('retries its failed stories if it had ended', async ({ run }) => {
    await run.append({ type: 'run.resumed', by: 'tess' }, ...failed('A'), ...failed('A', 2));
    await run.append({ type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'A failed' });
    await replanRun(run.keeper, run.request, undefined);
    const { status, stories } = await run.store.readState(run.runId);
    expect(status).not.toBe('ended');
    expect(stories.map(({ progress }) => progress)).toEqual(['pending', 'pending']);
  });

  it.for<[string, Partial<StoryFields>]>([
    ['done', { passes: true }],
    ['left out', { skip: true }],
  ])('does not retry a failed story that the PRD has as %s now', async ([, mark], { run }) => {
    await run.append({ type: 'run.resumed', by: 'tess' }, ...failed('A'), ...failed('A', 2));
    await run.append({ type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'A failed' });
    writeFileSync(run.prdPath, prdWith([{ id: 'A', ...mark }, BEFORE[1]!]));
    await replanRun(run.keeper, run.request, undefined);
    const { stories } = await run.store.readState(run.runId);
    expect(stories.map(({ progress }) => progress)).toEqual([mark.passes ? 'done' : 'skipped', 'pending']);
  });

  it('ends if nothing is left to do', async ({ run }) => {
    await run.append(...passed('A'));
    writeFileSync(run.prdPath, prdWith([{ id: 'A' }]));
    expect((await replanRun(run.keeper, run.request, undefined)).says).toBe(
      'The run has the current PRD (gone: B); there is nothing to do.',
    );
    expect(await run.store.readState(run.runId)).toMatchObject({ status: 'ended', stopReason: 'SUCCESS' });
  });

  it('is unchanged if the file is gone or not valid', async ({ run }) => {
    await run.append(...attempted('A'));
    const before = await run.store.readState(run.runId);
    writeFileSync(run.prdPath, '{');
    await expect(replanRun(run.keeper, run.request, undefined)).rejects.toMatchObject({ code: 'PRD_INVALID' });
    rmSync(run.prdPath);
    await expect(replanRun(run.keeper, run.request, undefined)).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      hint: `Pass the file: \`halo resume ${run.runId} --replan prd.json\`.`,
    });
    expect(await run.store.readState(run.runId)).toEqual(before);
  });
});
