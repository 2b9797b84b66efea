import { describe, expect } from 'vitest';
import { MAX_FEEDBACK_ROUNDS } from '../../../src/core/review/feedback.ts';
import { approveStory, rejectRun, rejectStory } from '../../../src/worker/control/approve.ts';
import { cancelRun } from '../../../src/worker/control/control-run.ts';
import { giveFeedback, type GivenFeedback } from '../../../src/worker/control/give-feedback.ts';
import { it } from '../../support/fixtures.ts';
import { recoverLanded } from '../../../src/worker/run/recover-landed.ts';
import { readRun } from '../../../src/worker/run/read-run.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';

const STORY = 'US-001';
const give = ({ keeper, request }: IdleRun, given: Partial<GivenFeedback> = {}, by = 'ann') =>
  giveFeedback(keeper, { ...request, by }, { storyId: STORY, text: 'Use the client.', ...given });
const storyOf = async ({ store, runId }: IdleRun) => (await store.readState(runId)).stories[0]!;
const refusal = (message: string | RegExp) =>
  expect.objectContaining({ code: 'CONTROL_REFUSED', message: expect.stringMatching(message) as string }) as Error;

describe('feedback on a commit that waits for approval', () => {
  it('starts the story again, which continues with the commit, and quotes the lines of comments itself', async ({
    home,
    repository,
  }) => {
    const run = await openIdleRun(home, repository);
    const commit = await run.hold(STORY);
    const comments = [
      { path: `${STORY}.txt`, line: 1, text: 'Why?\r\n' },
      { path: `${STORY}.txt`, text: 'Rename it.' },
    ];
    const review = { source: 'review' as const, author: 'ann-at-forge', url: 'https://forge.test/pr/1' };
    expect(await give(run, { comments, review })).toEqual({
      ...{ story: STORY, commit, changed: true, landed: false, goesOn: true },
    });
    const story = await storyOf(run);
    expect(story).toMatchObject({ progress: 'pending', kept: { commit, attempt: 1 }, forgiven: 1 });
    expect(story.held).toBeUndefined();
    expect(story.feedback).toEqual([
      {
        ...{ attempt: 1, commit, by: 'ann', text: 'Use the client.' },
        ...{ source: 'review', author: 'ann-at-forge', url: 'https://forge.test/pr/1' },
        comments: [
          { path: `${STORY}.txt`, side: 'new', line: 1, quote: STORY, text: 'Why?' },
          { path: `${STORY}.txt`, side: 'new', text: 'Rename it.' },
        ],
      },
    ]);
    expect(run.heldCommits()).toEqual([commit]);
    expect(run.queued.at(-1)).toMatchObject({ ordinal: 0, attempt: 2 });
    expect(await give(run, { comments })).toMatchObject({ commit, changed: false });
    expect((await storyOf(run)).feedback).toHaveLength(1);
    const onMoreLines = comments.map((comment) => (comment.line === 1 ? { ...comment, endLine: 2 } : comment));
    await expect(give(run, { comments: onMoreLines })).rejects.toEqual(refusal('has feedback of ann-at-forge already'));
  });

  it('is refused while the next attempt works on other feedback, and once the commit was decided on', async ({
    home,
    repository,
  }) => {
    const run = await openIdleRun(home, repository);
    await run.hold(STORY);
    const both = await Promise.allSettled([give(run), give(run, { text: 'Something else.' }, 'bob')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const winner = (await storyOf(run)).feedback![0]!.by;
    await expect(give(run, { text: 'A third.' }, 'eve')).rejects.toEqual(refusal(`has feedback of ${winner} already`));
    const decision = { ...run.request, storyId: STORY };
    await expect(approveStory(run.keeper, decision)).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    await expect(rejectStory(run.keeper, { ...decision, reason: undefined })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
    });
    const other = run.hold('US-002');
    await other;
    await rejectStory(run.keeper, { ...run.request, storyId: 'US-002', reason: undefined });
    await expect(give(run, { storyId: 'US-002' })).rejects.toEqual(refusal('has failed: there is no commit to change'));
    await cancelRun(run.keeper, run.request);
    await expect(give(run, { text: 'Late.' })).rejects.toEqual(refusal('was cancelled'));
  });

  it.for([
    [{ text: '' }, 'The feedback is empty.'],
    [{ text: 'x'.repeat(8001) }, 'The feedback has 8001 characters; the limit is 8000.'],
    [{ comments: [{ path: 'none.txt', text: 'a' }] }, /^none.txt is not a file of the commit/],
    [{ comments: [{ path: '../US-001.txt', text: 'a' }] }, /is not a file of the commit/],
    [{ comments: [{ path: 'US-001.txt', line: 2, text: 'a' }] }, /US-001.txt has 1 lines in the commit/],
    [{ comments: [{ path: 'US-001.txt', line: 2, endLine: 1, text: 'a' }] }, /ends before line 2/],
    [{ comments: [{ path: 'US-001.txt', side: 'old', text: 'a' }] }, /is not a file of the commit/],
    [{ comments: [{ path: 'US-001.txt', line: 1, text: ' ' }] }, 'A comment on US-001.txt is empty.'],
  ] as [Partial<GivenFeedback>, string | RegExp][])('%j is refused', async ([given, message], { home, repository }) => {
    const run = await openIdleRun(home, repository);
    await run.hold(STORY);
    const expected = { code: 'USAGE', message: expect.stringMatching(message) as string };
    await expect(give(run, given)).rejects.toMatchObject(expected);
    expect((await storyOf(run)).held).toBeDefined();
  });

  it(`is refused after ${MAX_FEEDBACK_ROUNDS} rounds`, async ({ home, repository }) => {
    const run = await openIdleRun(home, repository);
    for (let round = 1; round <= MAX_FEEDBACK_ROUNDS; round += 1) {
      await run.hold(STORY);
      await give(run, { text: `Round ${round}.` });
    }
    await run.hold(STORY);
    await expect(give(run, { text: 'Once more.' })).rejects.toEqual(refusal('10 times, which is the limit'));
  });
});

describe('feedback on a commit that has landed on the branch of the run', () => {
  it('reopens the run; a commit of an earlier attempt is not taken for that of the next one', async ({
    home,
    repository,
  }) => {
    const run = await openIdleRun(home, repository, { stories: [STORY] });
    const commit = await run.landUnrecorded(STORY);
    const { config } = await readRun(run.keeper, run.runId);
    const recovered = async () =>
      recoverLanded(run.keeper, {
        state: await run.store.readState(run.runId),
        hostGitDir: `${repository.root}/.git`,
        config,
      });
    await run.append(...(await recovered()));
    await run.append({ type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' });
    await rejectRun(run.keeper, run.runId, { by: 'bob', reason: 'not like this' });
    expect(await give(run)).toEqual({ story: STORY, commit, changed: true, landed: false, goesOn: true });
    const state = await run.store.readState(run.runId);
    expect(state).toMatchObject({ status: 'queued', tip: commit, stories: [{ progress: 'pending', commit }] });
    expect(state.stories[0]!.kept).toBeUndefined();
    expect(await recovered()).toEqual([]);
  });

  it('is refused once the run is approved or on a branch of the user', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository, { stories: [STORY] });
    await run.hold(STORY);
    await approveStory(run.keeper, { ...run.request, storyId: STORY, confirmation: { confirm: ['protected'] } });
    const { tip } = await run.store.readState(run.runId);
    await run.append({ type: 'run.approved', by: 'bob', tip });
    await expect(give(run)).rejects.toEqual(refusal('was approved by bob'));
    await run.append({ type: 'run.landed', branch: 'main', from: run.base, to: tip });
    await expect(give(run)).rejects.toEqual(refusal('is on main already'));
  });
});
