import { readFileSync } from 'node:fs';
import { describe, expect, vi } from 'vitest';
import { approveStory, rejectStory } from '../../../src/worker/control/approve.ts';
import { cancelRun } from '../../../src/worker/control/control-run.ts';
import { it } from '../../support/fixtures.ts';
import { held } from '../../support/journal.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';

const typesOf = async ({ store, runId }: IdleRun) => (await store.readJournal(runId)).map(({ type }) => type);
// The stories change a protected file.
const confirmation = { confirm: ['protected' as const] };
const approve = ({ keeper, request }: IdleRun, storyId: string) =>
  approveStory(keeper, { ...request, storyId, confirmation });
const reject = ({ keeper, request }: IdleRun, storyId: string, reason?: string) =>
  rejectStory(keeper, { ...request, storyId, reason });

describe('an approved story', () => {
  it('lands exactly the commit that waited, and the run continues', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold('US-001');
    expect(await approve(run, 'US-001')).toEqual({
      story: 'US-001',
      commit,
      changed: true,
      landed: true,
      goesOn: true,
    });
    expect(repository.git('rev-parse', `halo/${run.runId}`)).toBe(commit);
    expect(run.heldCommits()).toEqual([]);
    expect(run.queued).toHaveLength(1);
    expect(await approve(run, 'US-001')).toMatchObject({ commit, changed: false, landed: true });
    expect((await typesOf(run)).filter((type) => type === 'story.approved')).toHaveLength(1);
  });

  it('lands only if the person confirms that it changes a protected path, of this commit', async ({
    home,
    repository,
  }) => {
    const run = await openIdleRun(home, repository);
    await run.hold('US-001');
    const decision = { ...run.request, storyId: 'US-001' };
    const other = { confirm: ['protected' as const], commit: 'f'.repeat(40) };
    for (const given of [undefined, {}, { confirm: ['secret' as const] }, other])
      await expect(
        approveStory(run.keeper, { ...decision, ...(given && { confirmation: given }) }),
      ).rejects.toMatchObject({
        code: 'UNCONFIRMED',
        message: expect.stringContaining('US-001: changes protected paths: ci.yml') as string,
      });
    expect(await typesOf(run)).not.toContain('story.approved');
  });

  it('is left to a worker if another story has passed since', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const first = await run.hold('US-001');
    const second = await run.hold('US-002');
    await approve(run, 'US-001');
    expect(await approve(run, 'US-002')).toMatchObject({ landed: false, goesOn: true });
    expect(await approve(run, 'US-002')).toMatchObject({ landed: false, changed: false });
    expect(repository.git('rev-parse', `halo/${run.runId}`)).toBe(first);
    expect(run.heldCommits()).toEqual([second]);
  });

  it('changes nothing if someone else has moved the branch', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold('US-001');
    repository.git('branch', `halo/${run.runId}`, 'main');
    await expect(approve(run, 'US-001')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await typesOf(run)).not.toContain('story.approved');
    expect(run.heldCommits()).toEqual([commit]);
  });

  it('does not land if its commit is replaced while it is approved', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold('US-001');
    const transact = run.store.transact.bind(run.store);
    vi.spyOn(run.store, 'transact').mockImplementationOnce(async (...decision) => {
      await run.append(...held('US-001'));
      return transact(...decision);
    });
    await expect(approve(run, 'US-001')).rejects.toMatchObject({
      code: 'LAND_REFUSED',
      message: expect.stringContaining('has a different commit now') as string,
    });
    expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
    expect(run.heldCommits()).toEqual([commit]);
  });

  it('is refused with the stories that wait if it does not', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.hold('US-002');
    await expect(approve(run, 'US-001')).rejects.toMatchObject({
      code: 'LAND_REFUSED',
      hint: 'Use a story that is waiting: US-002.',
    });
  });
});

describe('a rejected story', () => {
  it('fails with the reason, and its commit is dropped', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.hold('US-001');
    expect(await reject(run, 'US-001', 'no\u001b[31m tests')).toMatchObject({ changed: true, landed: false });
    expect(run.heldCommits()).toEqual([]);
    expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
    const [story] = (await run.store.readState(run.runId)).stories;
    expect(story).toMatchObject({ progress: 'failed', stopReason: 'APPROVAL_DENIED' });
    await expect(approve(run, 'US-001')).rejects.toMatchObject({ code: 'LAND_REFUSED' });
  });
});

describe('a decision whose process was killed after its journal event, given again', () => {
  it.for([
    ['approval', (run: IdleRun) => approve(run, 'US-001')],
    ['rejection', (run: IdleRun) => reject(run, 'US-001')],
    ['cancellation', (run: IdleRun) => cancelRun(run.keeper, run.request)],
  ] as const)('releases the commit that waited: %s', async ([, decide], { home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold('US-001');
    await decide(run);
    // What the killed process left.
    await run.storeHeld('US-001', commit);
    const before = await typesOf(run);
    expect(await decide(run)).toMatchObject({ changed: false });
    expect(run.heldCommits()).toEqual([]);
    expect(await typesOf(run)).toEqual(before);
  });

  it('marks what has landed in the PRD: cancellation', async ({ home, repository }) => {
    const prdPath = `${repository.root}/prd.json`;
    const story = (nth: number) => ({ id: `US-00${nth}`, title: `Story number ${nth}`, passes: false });
    repository.write('prd.json', JSON.stringify({ project: 'shop', userStories: [1, 2].map(story) }));
    repository.commit('The PRD');
    const run = await openIdleRun(home, repository, { prdPath });
    await run.hold('US-001');
    await approve(run, 'US-001');
    await run.append({ type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by tess', by: 'tess' });
    expect(await cancelRun(run.keeper, run.request)).toMatchObject({ changed: false });
    expect(JSON.parse(readFileSync(prdPath, 'utf8'))).toMatchObject({
      userStories: [{ passes: true }, { passes: false }],
    });
  });
});
