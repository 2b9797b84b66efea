import { describe, expect, it } from 'vitest';
import {
  limitStack,
  planBranches,
  planBranchPull,
  type PullBranch,
} from '../../../src/features/pulls/core/plan-stack.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { Proof } from '../../../src/core/review/proof.ts';
import { BASE, created, journalOf, passed, stateOf } from '../../support/journal.ts';

const none = { proofs: new Map(), criteria: new Map(), claims: new Map() };
const commitOf = (n: number) => String(n).repeat(40);
const landed = (story: string, n: number) =>
  passed(story).map((entry) => (entry.type === 'story.ended' ? { ...entry, commit: commitOf(n) } : entry));
const sentBack = (story: string, n: number): JournalEntry => ({
  type: 'feedback.given',
  story,
  attempt: 1,
  commit: commitOf(n),
  text: 'Rename it.',
  comments: [],
  by: 'acme/shop',
});
const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

function stackOf(...entries: JournalEntry[]) {
  return planBranches(journalOf(entries), stateOf(...entries), 'story');
}

/** The pull requests of a stack, numbered from 11. */
function pullsOf(...entries: JournalEntry[]) {
  const branches = stackOf(...entries);
  const links = branches.map((_, index) => ({ number: index + 11, url: `https://forge.test/pulls/${index + 11}` }));
  return branches.map((_, nth) => planBranchPull(stateOf(...entries), none, { branches, nth, links }));
}

describe('the branches of a run with a pull request for each story', () => {
  it('are one for each story that has landed, each from the commit of the one before', () => {
    expect(stackOf(created('r'), ...landed('US-001', 1), ...landed('US-002', 2))).toMatchObject([
      { name: expect.stringMatching(/^halo-pr\/r\/1-us-001/) as string, base: BASE, commits: [commitOf(1)] },
      { name: expect.stringMatching(/^halo-pr\/r\/2-us-002/) as string, base: commitOf(1), commits: [commitOf(2)] },
    ]);
  });

  it('get a further commit of their story only at the top of the stack', () => {
    const begin = [created('r'), ...landed('US-001', 1), ...landed('US-002', 2)];
    const top = stackOf(...begin, sentBack('US-002', 2), ...landed('US-002', 3));
    expect(top).toMatchObject([{ commits: [commitOf(1)] }, { commits: [commitOf(2), commitOf(3)] }]);
    const below = stackOf(...begin, sentBack('US-001', 1), ...landed('US-001', 3));
    expect(below).toMatchObject([
      { commits: [commitOf(1)] },
      { commits: [commitOf(2)] },
      { story: 'US-001', isFollowUp: true, base: commitOf(2), commits: [commitOf(3)] },
    ]);
  });

  it('get no further commit after their pull request was merged', () => {
    const [branch] = stackOf(created('r'), ...landed('US-001', 1));
    const opened: JournalEntry = { type: 'pull.opened', number: 1, url: 'u', branch: branch!.name, of: 'US-001' };
    const closed: JournalEntry = { type: 'pull.closed', number: 1, merged: true };
    const again = [sentBack('US-001', 1), ...landed('US-001', 2)];
    expect(stackOf(created('r'), ...landed('US-001', 1), opened, ...again)).toHaveLength(1);
    expect(stackOf(created('r'), ...landed('US-001', 1), opened, closed, ...again)).toMatchObject([
      { commits: [commitOf(1)] },
      { commits: [commitOf(2)], isFollowUp: true },
    ]);
  });
});

describe('a commit that landed before halo knew that the pull request of its story was merged', () => {
  const begin = [created('r'), ...landed('US-001', 1)];
  const [branch] = stackOf(...begin);
  const opened: JournalEntry = { type: 'pull.opened', number: 1, url: 'u', branch: branch!.name, of: 'US-001' };
  const closed: JournalEntry = { type: 'pull.closed', number: 1, merged: true, head: commitOf(1) };
  const again = [opened, sentBack('US-001', 1), ...landed('US-001', 2)];

  it('gets a branch of its own, also if the merge is noticed twice', () => {
    const expected = [
      { commits: [commitOf(1)] },
      { name: expect.stringMatching(/^halo-pr\/r\/2-us-001/) as string, base: commitOf(1), commits: [commitOf(2)] },
    ];
    expect(stackOf(...begin, ...again, closed, closed)).toMatchObject(expected);
    expect(stackOf(...begin, ...again, closed)[1]).toMatchObject({ story: 'US-001', isFollowUp: true });
  });

  it('stays where it is if the pull request has it, or if the branch above has it', () => {
    expect(stackOf(...begin, ...again, { ...closed, head: commitOf(2) })).toMatchObject([
      { commits: [commitOf(1), commitOf(2)] },
    ]);
    expect(stackOf(...begin, ...again, ...landed('US-002', 3), closed)).toMatchObject([
      { commits: [commitOf(1), commitOf(2)] },
      { commits: [commitOf(3)], base: commitOf(2) },
    ]);
  });
});

describe('a stack with more than a hundred pull requests', () => {
  const branches = Array.from({ length: 103 }, (_, n): PullBranch => ({ name: `b${n}`, commits: [], base: BASE }));

  it('has a hundred open ones, and further ones when some were merged', () => {
    expect(limitStack(branches.slice(0, 100), {})).toHaveLength(100);
    expect(limitStack(branches, {})).toEqual(branches.slice(0, 100));
    const merged = { number: 1, url: 'u', branch: 'b4', ended: 'merged' } as const;
    expect(limitStack(branches, { pulls: [merged] })).toEqual(branches.slice(0, 101));
  });
});

describe('the pull request of a story', () => {
  const begin = [created('r', 3), ...landed('US-001', 1), ...landed('US-002', 2)];

  it('shows its story, its place in the stack and the status of its story alone', () => {
    const [first, second] = pullsOf(...begin);
    expect(first!.title).toContain('US-001: Story number 1 (1 of 3, halo r)');
    expect(first!.body).toContain('Pull request 1 of 3, before [#12](https://forge.test/pulls/12).');
    expect(second!.body).toContain('Pull request 2 of 3, after [#11](https://forge.test/pulls/11).');
    expect(second!.body).toContain(`- commit: ${commitOf(2)}`);
    expect(second!.body).not.toContain('US-001');
    expect(second!.statuses).toEqual([{ context: 'halo/US-002', state: 'success', description: 'Story number 2' }]);
  });

  it('is ready while its story and those below are done', () => {
    expect(pullsOf(...begin).map(({ isDraft }) => isDraft)).toEqual([false, false]);
    const again = [...begin, sentBack('US-002', 2)];
    expect(pullsOf(...again).map(({ isDraft }) => isDraft)).toEqual([false, true]);
    const below = pullsOf(...begin, sentBack('US-001', 1));
    expect(below.map(({ isDraft }) => isDraft)).toEqual([true, true]);
    expect(below[1]!.body).toContain('It is a draft until its story and those below it are done.');
  });

  it('names the one that has its later work, and that one names it', () => {
    const [first, , third] = pullsOf(...begin, sentBack('US-001', 1), ...landed('US-001', 3), END);
    expect(first!.body).toContain('is answered in [#13](https://forge.test/pulls/13).');
    expect(first!.body).not.toContain('It continues');
    expect(third!.title).toContain('US-001 (follow-up): Story number 1 (3 of 3');
    expect(third!.body).toContain('It continues the story of [#11](https://forge.test/pulls/11) after feedback.');
  });

  it('has the proof of its story only where it is about its newest commit', () => {
    const entries = [...begin, sentBack('US-001', 1), ...landed('US-001', 3)];
    const branches = stackOf(...entries);
    const usage = { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
    const proof = { gates: [], agent: { name: 'codex' }, usage } as unknown as Proof;
    const facts = { ...none, proofs: new Map([['US-001', proof]]) };
    const bodies = branches.map(
      (_, nth) => planBranchPull(stateOf(...entries), facts, { branches, nth, links: [] }).body,
    );
    expect(bodies.map((body) => body.includes('- agent: `codex`'))).toEqual([false, false, true]);
  });

  it('has no link to an address that would end the link', () => {
    const branches = stackOf(...begin);
    const links = [{ number: 11, url: 'https://forge.test/a) [x](https://evil.test' }, undefined];
    const { body } = planBranchPull(stateOf(...begin), none, { branches, nth: 1, links });
    expect(body).toContain('after #11.');
    expect(body).not.toContain('evil');
  });
});
