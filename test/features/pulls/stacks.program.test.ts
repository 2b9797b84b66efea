import { describe, expect } from 'vitest';
import { it } from './pull-world.ts';

const STACKED = ['land.mode="pr"', 'land.pull_requests="story"'];

describe('a run with a pull request for each story', () => {
  it('stacks them, changes the base when one is merged, and answers a review of one further up', async ({
    forge,
    open,
    origin,
    command,
  }) => {
    const run = await open(['A', 'B', 'C'], STACKED);
    const pulls = forge.pulls.all;
    const commits: string[] = [];
    for (const story of ['A', 'B', 'C']) commits.push(await run.land(story));
    await run.end();
    await run.pass();
    const branches = pulls.map(({ branch }) => branch);
    expect(branches).toEqual([1, 2, 3].map((n) => expect.stringMatching(`^halo-pr/${run.runId}/${n}-[abc]`) as string));
    expect(pulls.map(({ base, isDraft }) => [base, isDraft])).toEqual([
      ['main', false],
      [branches[0], false],
      [branches[1], false],
    ]);
    expect(branches.map(run.head)).toEqual(commits);
    expect(pulls[1]!.title).toContain('B: Story number 2 (2 of 3');
    expect(pulls[1]!.body).toContain(
      `Pull request 2 of 3, after [#1](${forge.url}/acme/shop/pulls/1), before [#3](${forge.url}/acme/shop/pulls/3).`,
    );
    const statuses = forge.pulls.statuses.map(({ commit, context, state }) => [commit, context, state]);
    expect(statuses).toEqual(['A', 'B', 'C'].map((id, n) => [commits[n], `halo/${id}`, 'success']));
    expect(origin.git('branch', '--list', 'halo/*')).toBe('');

    pulls[0]!.state = 'merged';
    origin.git('update-ref', '-d', `refs/heads/${branches[0]}`);
    await run.pass();
    expect(run.events('pull.closed')).toMatchObject([{ number: 1, merged: true }]);
    await run.pass();
    expect(pulls.map(({ base }) => base)).toEqual(['main', 'main', branches[1]]);
    expect(origin.git('branch', '--list', branches[0]!), 'a merged branch is not pushed again').toBe('');

    const status = (await command(['status', run.runId])).stdout;
    expect(status).toContain(`#1 ${forge.url}/acme/shop/pulls/1 (merged)`);
    expect(status).toMatch(/halo pr \w+ +merge its pull request: \S+\/pulls\/2/);
    forge.pulls.review({ author: 'alice', pull: 2, text: 'Rename it.' });
    await run.pass();
    expect(run.events('feedback.given')).toMatchObject([{ story: 'B', author: 'alice' }]);
    const answer = await run.land('B');
    await run.end();
    await run.pass();
    expect(pulls).toHaveLength(4);
    expect(pulls[3]).toMatchObject({
      base: branches[2],
      title: expect.stringContaining('B (follow-up): Story number 2 (4 of 4') as string,
    });
    expect(pulls[1]!.body).toContain('is answered in [#4](');
    const heads = pulls.slice(1).map(({ branch }) => run.head(branch));
    expect(heads, 'no branch was rewritten').toEqual([commits[1], commits[2], answer]);
  });

  it('gets a further one for a commit that landed while people merged the last one', async ({ forge, open }) => {
    const run = await open(['A'], STACKED);
    const pulls = forge.pulls.all;
    const merged = await run.land('A');
    await run.end();
    await run.pass();
    await run.sendBack('A', 'Rename it.');
    // The merge is first noticed when the commit is to be sent.
    pulls[0]!.state = 'merged';
    const commit = await run.land('A');
    await run.end();
    await run.pass();
    await run.pass();
    expect(pulls[1]).toMatchObject({ base: 'main', title: expect.stringContaining('A (follow-up)') as string });
    expect(pulls.map(({ branch }) => run.head(branch))).toEqual([merged, commit]);
  });

  it.for(['before', 'after'] as const)(
    'has one for each story if the worker is gone between push and pull request: %s it was opened',
    async (drop, { forge, open }) => {
      const run = await open(['A', 'B'], STACKED);
      const commits = [await run.land('A'), await run.land('B')];
      await run.end();
      forge.fault = (request) =>
        forge.pulls.all.length > 0 && request.startsWith('POST /repos/acme/shop/pulls') ? { drop } : undefined;
      await run.pass();
      expect(run.events('pull.opened')).toHaveLength(1);
      forge.fault = () => undefined;
      run.crash();
      await run.pass();
      const [a, b] = forge.pulls.all;
      expect(forge.pulls.all).toHaveLength(2);
      expect([a!.base, b!.base]).toEqual(['main', a!.branch]);
      expect([a!, b!].map(({ branch }) => run.head(branch))).toEqual(commits);
      expect(run.files('pull-requests')).toEqual([]);
    },
  );
});
