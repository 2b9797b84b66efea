import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { approveStory } from '../../../src/worker/control/approve.ts';
import { cancelStory } from '../../../src/worker/control/control-run.ts';
import { replanRun } from '../../../src/worker/control/replan-run.ts';
import { endRun } from '../../../src/worker/run/end-run.ts';
import { recoverLanded } from '../../../src/worker/run/recover-landed.ts';
import { it } from '../../support/fixtures.ts';
import { failed } from '../../support/journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';

const { config } = resolveConfig({ cwd: '/', set: ['gates=[]'] });
const FIRST = 'US-001';
const SECOND = 'US-002';

async function recover({ keeper, runId }: IdleRun, { root }: TestRepository) {
  return recoverLanded(keeper, { state: await keeper.store.readState(runId), hostGitDir: `${root}/.git`, config });
}
const progressOf = async ({ store, runId }: IdleRun) =>
  (await store.readState(runId)).stories.map(({ progress }) => progress);

describe('a story that landed without an entry in the journal', () => {
  it('is found on the branch of the run', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.landUnrecorded(FIRST);
    expect(await recover(run, repository)).toMatchObject([
      { type: 'story.ended', story: FIRST, attempt: 1, verdict: 'passed', stopReason: 'SUCCESS', commit },
    ]);
  });

  it('no longer keeps the commit that a person approved', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold(FIRST);
    await run.append({ type: 'approval.given', story: FIRST, attempt: 1, commit, by: 'tess' });
    await run.landUnrecorded(FIRST);
    expect(await recover(run, repository)).toMatchObject([{ story: FIRST }]);
    expect(run.heldCommits()).toEqual([]);
  });

  it('is not found again once it is recorded', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.landUnrecorded(FIRST);
    await run.append(...(await recover(run, repository)));
    expect(await recover(run, repository)).toEqual([]);
  });

  it('is not taken for another story of the run, or for one of another run', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.append(...failed(SECOND));
    const commit = await run.landUnrecorded(FIRST);
    const other = await openIdleRun(home, repository);
    await other.append(...failed(FIRST));
    repository.git('update-ref', `refs/heads/halo/${other.runId}`, commit);
    expect(await recover(run, repository)).toMatchObject([{ story: FIRST }]);
    expect(await recover(other, repository)).toEqual([]);
  });

  it('is recorded, and marked in the PRD, when its run ends for another reason', async ({ home, repository }) => {
    const prdPath = join(repository.root, 'prd.json');
    const stories = [FIRST, SECOND].map((id, index) => ({ id, title: `Story number ${index + 1}`, passes: false }));
    repository.write('prd.json', JSON.stringify({ project: 'shop', userStories: stories }));
    repository.commit('The PRD');
    const run = await openIdleRun(home, repository, { prdPath });
    await run.landUnrecorded(FIRST);
    await endRun(run.keeper, { runId: run.runId, config }, () => ({ stopReason: 'CANNOT_START', detail: 'no image' }));
    expect(await progressOf(run)).toEqual(['passed', 'pending']);
    expect(JSON.parse(readFileSync(prdPath, 'utf8'))).toMatchObject({
      userStories: [{ passes: true }, { passes: false }],
    });
  });

  it('stays when its run gets a PRD without it', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.landUnrecorded(FIRST);
    const prd = { project: 'shop', userStories: [{ id: SECOND, title: 'Story number 2', passes: false }] };
    const file = { path: '-', bytes: new TextEncoder().encode(JSON.stringify(prd)) };
    await replanRun(run.keeper, run.request, file);
    expect((await run.store.readState(run.runId)).stories).toMatchObject([
      { id: SECOND, progress: 'pending' },
      { id: FIRST, progress: 'passed' },
    ]);
  });

  it('counts as landed when a person cancels it', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.landUnrecorded(FIRST);
    const result = await cancelStory(run.keeper, run.request, FIRST);
    expect(result).toMatchObject({ changed: false, says: 'Story US-001 has passed: there is nothing to cancel.' });
    expect(await progressOf(run)).toEqual(['passed', 'pending']);
    expect((await run.store.readState(run.runId)).tip).toBe(commit);
  });

  it('does not prevent the approval of another story', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    const held = await run.hold(SECOND);
    const commit = await run.landUnrecorded(FIRST);
    const confirmation = { confirm: ['protected' as const] };
    const approved = await approveStory(run.keeper, { ...run.request, storyId: SECOND, confirmation });
    expect(approved).toMatchObject({ commit: held, landed: false, changed: true });
    expect(await progressOf(run)).toEqual(['passed', 'pending']);
    expect(repository.git('rev-parse', `halo/${run.runId}`)).toBe(commit);
  });
});
