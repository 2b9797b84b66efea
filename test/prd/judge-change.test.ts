import { describe, expect, it } from 'vitest';
import { judgePrdChange, type PrdChange } from '../../src/prd/judge-change.ts';

const OWN = { id: 'US-001', title: 'Cart', description: '', acceptance: ['It adds up'] };

function judge(before: string, after: string, story = OWN): PrdChange | undefined {
  const [old, now] = [before, after].map((text) => new TextEncoder().encode(text));
  return judgePrdChange({ before: old!, after: now!, path: 'prd', story });
}

interface Prd {
  project: string;
  lastUpdated?: string;
  userStories: Record<string, unknown>[];
}

const PRD: Prd = {
  project: 'Shop',
  userStories: [
    { id: 'US-001', title: 'Cart', acceptanceCriteria: ['It adds up'], priority: 1, passes: false, notes: '' },
    { id: 'US-002', title: 'Till', acceptanceCriteria: ['It is safe'], priority: 2, passes: false, notes: '' },
  ],
};

/** The PRD with one change, written in another form than before. */
function changed(change: (prd: Prd) => void): string {
  const prd = structuredClone(PRD);
  change(prd);
  return JSON.stringify(prd, null, 4);
}

describe('a JSON PRD in which only the mark of the story itself differs', () => {
  it.each<[string, (prd: Prd) => void]>([
    ['its flag', ({ userStories: [own] }) => (own!.passes = true)],
    ['its flag and notes', ({ userStories: [own] }) => Object.assign(own!, { passes: true, notes: 'Did it.' })],
    ['a date of the file', (prd) => (Object.assign(prd, { lastUpdated: '2026-01-01' }).userStories[0]!.passes = true)],
    ['when it was done', ({ userStories: [own] }) => Object.assign(own!, { passes: true, completedAt: 'now' })],
    ['that it is under way', ({ userStories: [own] }) => (own!.inProgress = true)],
    ['a word', ({ userStories: [own] }) => (own!.status = 'done')],
    ['nothing but its form', () => undefined],
  ])('passes: %s', (_what, change) => {
    expect(judge(JSON.stringify(PRD), changed(change))).toEqual({ isOwnMark: true, what: [] });
  });
});

describe('a JSON PRD in which more differs', () => {
  it.each<[string, (prd: Prd) => void, string[]]>([
    ['the mark of another story', ({ userStories }) => (userStories[1]!.passes = true), ['marks US-002 as done']],
    [
      'both marks',
      ({ userStories }) => userStories.forEach((story) => (story.passes = true)),
      ['marks US-002 as done'],
    ],
    ['its own, skipped', ({ userStories: [own] }) => (own!.status = 'wontfix'), ['marks US-001 as skipped']],
    ['its own, by a switch', ({ userStories: [own] }) => (own!.skip = true), ['marks US-001 as skipped']],
    [
      'its own criteria',
      ({ userStories: [own] }) => Object.assign(own!, { passes: true, acceptanceCriteria: ['x'] }),
      ['changes the criteria of US-001'],
    ],
    [
      'criteria of another',
      ({ userStories }) => (userStories[1]!.acceptanceCriteria = []),
      ['changes the criteria of US-002'],
    ],
    [
      'words for the next agent',
      ({ userStories }) => (userStories[1]!.notes = 'obey'),
      ['changes the notes of US-002'],
    ],
    ['text', ({ userStories }) => (userStories[1]!.description = 'x'), ['changes the text of US-002']],
    [
      'what waits',
      ({ userStories }) => (userStories[1]!.dependsOn = ['US-001']),
      ['changes the order or dependencies of US-002'],
    ],
    ['a new story', ({ userStories }) => userStories.push({ id: 'X', title: 'X', passes: true }), ['adds X']],
    ['a story that is gone', ({ userStories }) => userStories.pop(), ['removes US-002']],
    ['the order', ({ userStories }) => userStories.reverse(), ['changes the order of its stories']],
    ['the project', (prd) => (prd.project = 'x'), ['changes the project name or description']],
    ['anything else', (prd) => Object.assign(prd, { branchName: 'main' }), ['changes other content']],
    ['a list under a harmless key', (prd) => Object.assign(prd, { updated: ['x'] }), ['changes other content']],
    [
      'a sentence under a harmless key',
      ({ userStories }) => (userStories[1]!.updated = 'obey me'),
      ['changes other content'],
    ],
    ['its own id', ({ userStories: [own] }) => (own!.id = 'US-009'), ['adds US-009', 'removes US-001']],
    ['a second one of its id', ({ userStories }) => userStories.push(userStories[0]!), ['makes it invalid']],
  ])('is reported: %s', (_what, change, what) => {
    expect(judge(JSON.stringify(PRD), changed(change))).toEqual({ isOwnMark: false, what });
  });

  it('is reported if the story with that id belongs to another PRD', () => {
    const mark = changed(({ userStories: [own] }) => (own!.passes = true));
    expect(judge(JSON.stringify(PRD), mark, { ...OWN, title: 'Other' })).toEqual({
      isOwnMark: false,
      what: ['marks US-001 as done'],
    });
  });

  it('is reported if one of the two is unreadable', () => {
    expect(judge(JSON.stringify(PRD), '{"userStories": [')?.what).toEqual(['makes it invalid']);
    expect(judge('no PRD', 'none either')).toBeUndefined();
    expect(judge('no PRD', JSON.stringify(PRD))?.what).toEqual(['changes it, although it was not valid before']);
  });
});

describe('PRDs of other dialects', () => {
  const tasks = (status: string, other = 'todo') =>
    JSON.stringify({
      phases: [
        {
          name: 'Core',
          tasks: [
            { id: 'US-001', title: 'Cart', status, subtasks: [{ id: 1, title: 'a', status }] },
            { id: 'US-002', title: 'Till', status: other },
          ],
        },
      ],
    });

  it('have marks below groups, and in parts of the story', () => {
    const story = { ...OWN, acceptance: [] };
    expect(judge(tasks('todo'), tasks('complete'), story)?.isOwnMark).toBe(true);
    expect(judge(tasks('todo'), tasks('complete', 'complete'), story)?.isOwnMark).toBe(false);
  });

  it('identify a story without an id by its texts, and neither of two with the same texts', () => {
    const [own, other] = [{ task: 'Cart' }, { task: 'Till' }];
    const story = { id: '1', title: 'Cart', description: '', acceptance: [] };
    const of = (...stories: object[]) => JSON.stringify(stories);
    expect(judge(of(own, other), of({ ...own, passes: true }, other), story)?.isOwnMark).toBe(true);
    expect(judge(of(own, other), of(own, { ...other, passes: true }), story)?.isOwnMark).toBe(false);
    expect(judge(of(own, own), of({ ...own, passes: true }, own), story)?.isOwnMark).toBe(false);
  });

  const headings = (own: string, other: string, sign = '') =>
    `# Shop\n\n### US-001: Cart${sign}\n\n**Acceptance Criteria:**\n\n- [${own}] It adds up\n\n### US-002: Till\n\n**Acceptance Criteria:**\n\n- [${other}] It is safe\n- [ ] It is fast\n`;

  it('another story may not even tick a criterion below a Markdown heading', () => {
    expect(judge(headings(' ', ' '), headings('x', ' ', ' ✅'))?.isOwnMark).toBe(true);
    expect(judge(headings(' ', ' '), headings('x', 'x'))?.isOwnMark).toBe(false);
    expect(judge(headings(' ', ' '), `${headings('x', ' ')}\nNow obey.\n`)?.isOwnMark).toBe(false);
  });

  it('another story may not change a Markdown box', () => {
    const boxes = (own: string, other: string, text = '') =>
      `# Plan\n\n- [${own}] US-001 Cart\n- [${other}] US-002 Till${text}\n`;
    const story = { ...OWN, acceptance: [] };
    const judged = (after: string) => judge(boxes(' ', ' '), after, story);
    expect(judged(boxes('x', ' '))?.isOwnMark).toBe(true);
    expect(judged(boxes('-', ' '))?.what).toEqual(['marks US-001 as blocked']);
    expect(judged(boxes('x', 'x'))?.what).toEqual(['marks US-002 as done']);
    expect(judged(boxes('x', ' ', ' and more'))?.isOwnMark).toBe(false);
  });
});
