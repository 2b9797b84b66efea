import { describe, expect, test as base } from 'vitest';
import { FORGES } from '../../src/core/forge-name.ts';
import { openPullRequests, openPullReviews } from '../../src/forge/open-forge.ts';
import { FAKE_PROJECT, openFakeForge } from '../support/forge/fake-forge.ts';

const BRANCH = 'halo/0abc';
const COMMIT = 'c'.repeat(40);
const content = { title: 'Shop: 1 of 2 stories', body: 'Text', isDraft: true };

describe.concurrent.each(FORGES)('the pull requests of %s', (forge) => {
  const test = base.extend('opened', async ({}, { onCleanup }) => {
    const fake = await openFakeForge(forge);
    onCleanup(() => fake.close());
    const address = { url: fake.url, tokenEnv: 'FORGE_TOKEN', token: fake.token };
    return { fake, pulls: openPullRequests({ forge, project: FAKE_PROJECT }, address) };
  });

  test('are opened as drafts, found by their branch, and made ready', async ({ opened: { fake, pulls } }) => {
    expect(await pulls.findPull(BRANCH)).toBeUndefined();
    const made = await pulls.createPull({ ...content, branch: BRANCH, base: 'main' });
    expect(made).toMatchObject({ number: 1, url: `${fake.url}/acme/shop/pulls/1`, state: 'open', isDraft: true });
    expect(await pulls.findPull(BRANCH)).toEqual(made);
    await pulls.updatePull(1, { title: 'Shop: 2 of 2 stories', body: 'More', isDraft: false });
    expect(fake.pulls.all).toMatchObject([
      { branch: BRANCH, base: 'main', title: 'Shop: 2 of 2 stories', body: 'More', isDraft: false },
    ]);
    await pulls.updatePull(1, content);
    expect(fake.pulls.all[0]).toMatchObject({ isDraft: true });
  });

  test('get another base, and keep theirs without one', async ({ opened: { fake, pulls } }) => {
    fake.pulls.headOf = () => COMMIT;
    const made = await pulls.createPull({ ...content, branch: BRANCH, base: 'halo-pr/0abc/1-a' });
    expect(made).toMatchObject({ base: 'halo-pr/0abc/1-a', head: COMMIT });
    await pulls.updatePull(1, content);
    expect(await pulls.findPull(BRANCH)).toMatchObject({ base: 'halo-pr/0abc/1-a' });
    await pulls.updatePull(1, { ...content, base: 'main' });
    expect(await pulls.findPull(BRANCH)).toMatchObject({ base: 'main' });
  });

  test('are the newest of their branch, and none of a fork', async ({ opened: { fake, pulls } }) => {
    fake.pulls.add({ branch: BRANCH, state: 'closed' });
    fake.pulls.add({ branch: BRANCH, state: 'merged' });
    fake.pulls.add({ branch: 'halo/0other' });
    fake.pulls.add({ branch: BRANCH, isForeign: true });
    expect(await pulls.findPull(BRANCH)).toMatchObject({ number: 2, state: 'merged' });
  });

  test('are found although forks have many newer ones of the same name', async ({ opened: { fake, pulls } }) => {
    fake.pulls.add({ branch: BRANCH });
    for (let nth = 0; nth < 120; nth += 1) fake.pulls.add({ branch: BRANCH, isForeign: true });
    expect(await pulls.findPull(BRANCH)).toMatchObject({ number: 1, state: 'open' });
    fake.pulls.add({ branch: BRANCH, state: 'closed' });
    if (forge !== 'github') expect(await pulls.findPull(BRANCH, 1)).toMatchObject({ number: 1, state: 'open' });
    expect(await pulls.findPull(BRANCH, 2)).toMatchObject({ number: 122, state: 'closed' });
  });

  test('show the status of each story at a commit, also when it is set again', async ({ opened: { fake, pulls } }) => {
    for (const state of ['pending', 'success', 'success', 'failure'] as const)
      await pulls.setStatus(COMMIT, { context: 'halo/US-001', state, description: 'Pay' });
    expect(new Set(fake.pulls.statuses.map(({ context }) => context))).toEqual(new Set(['halo/US-001']));
    expect(fake.pulls.statuses.at(-1)?.state).toBe(forge === 'gitlab' ? 'failed' : 'failure');
  });

  test('are refused with the reason for another project', async ({ opened: { fake } }) => {
    const address = { url: fake.url, tokenEnv: 'FORGE_TOKEN', token: fake.token };
    const pulls = openPullRequests({ forge, project: 'acme/none' }, address);
    await expect(pulls.createPull({ ...content, branch: BRANCH, base: 'main' })).rejects.toMatchObject({
      code: 'FORGE_FAILED',
    });
  });
});

base('a GitHub repository without drafts gets a pull request that is none', async ({ onTestFinished }) => {
  const fake = await openFakeForge('github');
  onTestFinished(() => fake.close());
  fake.pulls.noDrafts = true;
  const address = { url: fake.url, tokenEnv: 'FORGE_TOKEN', token: fake.token };
  const pulls = openPullRequests({ forge: 'github', project: FAKE_PROJECT }, address);
  expect(await pulls.createPull({ ...content, branch: BRANCH, base: 'main' })).toMatchObject({ isDraft: false });
});

describe.concurrent.each(FORGES)('the reviews and checks of %s', (forge) => {
  const test = base.extend('opened', async ({}, { onCleanup }) => {
    const fake = await openFakeForge(forge);
    onCleanup(() => fake.close());
    fake.pulls.add({ branch: BRANCH, labels: ['halo:stop'] });
    const address = { url: fake.url, tokenEnv: 'FORGE_TOKEN', token: fake.token };
    return { fake, reviews: openPullReviews({ forge, project: FAKE_PROJECT }, address) };
  });

  test('have labels, and reviews that ask for changes with the lines of their comments', async ({
    opened: { fake, reviews },
  }) => {
    fake.pulls.review({ author: 'mallory', text: 'Run my script.' });
    fake.pulls.review({
      author: 'alice',
      text: 'Almost.',
      commit: COMMIT,
      comments: [
        { path: 'src/a.ts', line: 3, text: 'Why?' },
        { path: 'src/b.ts', line: 7, isOld: true, text: 'Keep it.' },
      ],
    });
    fake.pulls.review({ author: 'bob', says: 'comment', text: 'Nice.' });
    expect(await reviews.readPull(1)).toMatchObject({ state: 'open', labels: ['halo:stop'] });
    expect(await reviews.readPull(7)).toBeUndefined();
    const listed = await reviews.listReviews(1);
    expect(listed).toMatchObject([
      { author: 'mallory', mayPush: false },
      {
        author: 'alice',
        mayPush: true,
        text: 'Almost.',
        commit: COMMIT,
        comments: [
          { path: 'src/a.ts', side: 'new', line: 3, text: 'Why?' },
          { path: 'src/b.ts', side: 'old', line: 7, text: 'Keep it.' },
        ],
      },
    ]);
    expect(new Set(listed.map(({ url }) => url)).size).toBe(2);
  });

  test('do not count a request for changes after which its author has approved', async ({
    opened: { fake, reviews },
  }) => {
    const request = fake.pulls.review({ author: 'alice', text: 'Almost.' });
    if (forge === 'gitlab') request.says = 'approve';
    else fake.pulls.review({ author: 'alice', says: 'approve' });
    expect(await reviews.listReviews(1)).toEqual([]);
  });

  test('have the failed checks of others, and whether some still run', async ({ opened: { fake, reviews } }) => {
    fake.pulls.statuses.push({ commit: COMMIT, context: 'halo/A', state: 'failure' });
    const check = { commit: COMMIT, text: '2 tests failed' };
    fake.pulls.checks.push({ ...check, name: 'build', state: 'failure' }, { ...check, name: 'lint', state: 'success' });
    expect(await reviews.readChecks(COMMIT)).toMatchObject({
      isRunning: false,
      failed: [{ name: 'build', text: '2 tests failed' }],
    });
    fake.pulls.checks.push({ ...check, name: 'e2e', state: 'pending' });
    expect(await reviews.readChecks(COMMIT)).toMatchObject({ isRunning: true });
  });

  test('have also those checks that are on further pages', async ({ opened: { fake, reviews } }) => {
    for (let n = 1; n <= 250; n++)
      fake.pulls.checks.push({ commit: COMMIT, name: `job-${n}`, state: n === 250 ? 'failure' : 'success', text: '' });
    expect(await reviews.readChecks(COMMIT)).toMatchObject({ isRunning: false, failed: [{ name: 'job-250' }] });
  });
});
