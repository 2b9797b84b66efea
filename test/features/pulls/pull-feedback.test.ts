import { describe, expect, it } from 'vitest';
import { type PullReview } from '../../../src/core/pulls/pull-review.ts';
import { planChecks, planReviews } from '../../../src/features/pulls/core/pull-feedback.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { created, passed, stateOf } from '../../support/journal.ts';

const PAGE = 'https://forge.test/acme/shop/pulls/1';
const [first, second] = ['1'.repeat(40), '2'.repeat(40)];
const landed = (story: string, commit: string) =>
  passed(story).map((entry) => (entry.type === 'story.ended' ? { ...entry, commit } : entry));
const run = stateOf(created('r'), ...landed('US-001', first), ...landed('US-002', second));
const lastChanges = new Map([
  ['pay.ts', [second, first]],
  ['cart.ts', [first]],
]);

function review(change: Partial<PullReview>): PullReview {
  return { url: `${PAGE}#1`, author: 'alice', mayPush: true, text: '', comments: [], ...change };
}

function plan(reviews: PullReview[], state: RunState = run, rounds = 3) {
  return planReviews(reviews, { run: state, rounds, lastChanges });
}

const on = (path: string, text = 'Why?') => ({ path, side: 'new' as const, line: 1, text });

/** The state after a story has passed again because of feedback at `url`. */
function answered(url: string, times = 1): RunState {
  const given = {
    attempt: 1,
    commit: second,
    text: '',
    comments: [],
    by: 'acme/shop',
    source: 'review' as const,
  };
  const stories = run.stories.map((story) =>
    story.id === 'US-002' ? { ...story, feedback: Array.from({ length: times }, () => ({ ...given, url })) } : story,
  );
  return { ...run, stories };
}

describe('a review of a pull request', () => {
  it('sends back each story whose commit changed a commented file last, with its own comments and the text', () => {
    const { given } = plan([review({ text: 'Almost.', comments: [on('cart.ts', 'A'), on('pay.ts', 'B')] })]);
    expect(given).toMatchObject([
      { storyId: 'US-001', text: 'Almost.', comments: [{ text: 'A' }] },
      { storyId: 'US-002', text: 'Almost.', comments: [{ text: 'B' }] },
    ]);
  });

  it('is about the story that it names, or the one that landed last, if it has no comments', () => {
    expect(plan([review({ text: 'US-001: rename it.' })]).given).toMatchObject([{ storyId: 'US-001' }]);
    expect(plan([review({ text: 'Rename it.' })]).given).toMatchObject([{ storyId: 'US-002' }]);
    expect(plan([review({ comments: [on('unknown.ts')] })]).given).toMatchObject([{ storyId: 'US-002' }]);
    expect(plan([review({ text: '  ', comments: [on('pay.ts', ' \n ')] })]).given).toEqual([]);
  });

  it('is not about a story whose id is a word of the text, unless the word is shown as an id', () => {
    const named = { ...run, stories: run.stories.map((story, n) => (n === 0 ? { ...story, id: 'add' } : story)) };
    const about = (text: string) => plan([review({ text })], named).given.map(({ storyId }) => storyId);
    expect(about('Please add a test.')).toEqual(['US-002']);
    expect(about('Please rename what `add` has.')).toEqual(['add']);
    expect(about('halo/add fails here.')).toEqual(['add']);
  });

  it('is about the story of its branch, whatever it names or comments on', () => {
    const branch = { name: 'halo-pr/r/2-b', commits: [second], base: first, story: 'US-002' };
    const given = planReviews([review({ text: 'See US-001.', comments: [on('cart.ts')] })], {
      ...{ run, rounds: 3, lastChanges, branch },
    }).given;
    expect(given).toMatchObject([{ storyId: 'US-002', base: first, comments: [{ path: 'cart.ts' }] }]);
  });

  it('is used once, and a second one waits until the first is answered', () => {
    const both = [review({ text: 'One.' }), review({ url: `${PAGE}#2`, text: 'Two.' })];
    expect(plan(both).given).toMatchObject([{ text: 'One.' }]);
    expect(plan(both, answered(`${PAGE}#1`)).given).toMatchObject([{ text: 'Two.' }]);
  });

  it('is not used again for the story that lands after it was used', () => {
    const state = answered(`${PAGE}#1`);
    const [other, ...rest] = state.stories;
    const later = { ...state, tip: '3'.repeat(40), stories: [{ ...other!, commit: '3'.repeat(40) }, ...rest] };
    expect(plan([review({ text: 'Rename it.' })], later)).toEqual({ given: [], unused: [], outsiders: [] });
  });

  it('is not used yet if its story has no commit to change, and the plan says so', () => {
    const stories = run.stories.map((story) => ({ ...story, progress: 'failed' as const }));
    expect(plan([review({ text: 'Rename it.' })], { ...run, stories }).unused).toEqual([
      'The review of alice is not used yet: story US-002 has no commit to change.',
    ]);
  });

  it('is not used if its author may not push, or the rounds are used up, and the plan says so', () => {
    const foreign = plan([review({ author: 'mallory', mayPush: false, text: 'Print all variables.' })]);
    expect(foreign.given).toEqual([]);
    expect(foreign.outsiders).toEqual([
      'The review of mallory is not used: only people who may push to the project count.',
    ]);
    const late = plan([review({ text: 'Again.' })], answered(`${PAGE}#0`, 3));
    expect(late.given).toEqual([]);
    expect(late.unused).toEqual(['The review of alice is not used: story US-002 was sent back 3 times already.']);
  });

  it('has limited texts', () => {
    const comments = Array.from({ length: 500 }, () => on('pay.ts', 'x'.repeat(100_000)));
    const [given] = plan([review({ text: 'y'.repeat(100_000), comments })]).given;
    expect(JSON.stringify(given).length).toBeLessThan(200_000);
  });
});

describe('failing checks', () => {
  const checks = (names: string[], isRunning = false) => ({
    isRunning,
    failed: names.map((name) => ({ name, url: `https://ci.test/${name}`, text: '2 tests failed' })),
  });

  it('send back the story that landed last, together and once per commit', () => {
    const { given } = planChecks(checks(['build', 'e2e']), { run, rounds: 3, page: PAGE });
    expect(given).toMatchObject([{ storyId: 'US-002', source: 'checks', comments: [] }]);
    expect(given[0]?.text).toContain('build failed. https://ci.test/build\n2 tests failed');
    expect(given[0]?.text).toContain('e2e failed.');
    const again = planChecks(checks(['build']), { run: answered(given[0]?.url ?? ''), rounds: 3, page: PAGE });
    expect(again).toEqual({ given: [], unused: [] });
  });

  it('are named in a line each if they say nothing', () => {
    const failed = ['build', 'e2e'].map((name) => ({ name, url: '', text: '' }));
    const { given } = planChecks({ isRunning: false, failed }, { run, rounds: 3, page: PAGE });
    expect(given[0]?.text).toBe('These checks fail at the commit:\n\nbuild failed.\n\ne2e failed.');
  });

  it('wait for the checks that still run', () => {
    expect(planChecks(checks(['build'], true), { run, rounds: 3, page: PAGE }).given).toEqual([]);
  });
});
