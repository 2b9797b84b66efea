import { describe, expect, test } from 'vitest';
import type { HaloError } from '../../../src/core/failure/errors.ts';
import { judgePrdChange, textWithoutMarks } from '../../../src/prd/judge-change.ts';
import { markDone } from '../../../src/prd/mark-done.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const read = (text: string, path = 'plan.md') => parsePrd(toBytes(text), path);
const refusal = (text: string) => {
  try {
    read(text);
    return 'read';
  } catch (error) {
    return (error as HaloError).message;
  }
};
const mark = (text: string, id: string) => {
  const { stories } = read(text);
  const before = stories.filter(({ status }) => status === 'done');
  const landed = stories.filter((story) => story.id === id);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    markDone(toBytes(text), 'plan.md', { landed, before }).bytes,
  );
};

const TASK = `---
id: task-7
title: 'Sort the list'
status: To Do
assignee: []
labels: [list]
dependencies:
  - task-3
priority: high
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Sort by name.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 Names are sorted
- [x] #2 Case is ignored
<!-- AC:END -->

## Implementation Notes

- [ ] think about umlauts
`;

describe('a task in a file of its own', () => {
  test('is one story, whose criteria are the items below their heading', () => {
    const prd = read(TASK);
    expect(prd).toMatchObject({
      dialect: 'task-file',
      context: [],
      warnings: ['task-7: needs "task-3", which is not a story; the agent gets it as text'],
    });
    expect(prd.stories).toMatchObject([
      {
        id: 'task-7',
        title: 'Sort the list',
        description: '## Description\n\nSort by name.\n\n## Implementation Notes\n\n- [ ] think about umlauts',
        acceptance: ['Names are sorted', 'Case is ignored'],
        priority: 1,
        status: 'pending',
        extra: { labels: ['list'] },
      },
    ]);
  });

  const task = (status: string, more = '') =>
    `---\nname: Sort\n${status}\n${more}---\n\n# Task\n\n## Acceptance Criteria\n- [ ] It sorts\n`;
  test.each<[status: string, state: string, marked: string | undefined]>([
    ['status: open', 'pending', 'status: closed'],
    ['status: To Do', 'pending', 'status: Done'],
    ['status: In Progress # by me', 'in_progress', 'status: Done # by me'],
    ["status: 'todo'", 'pending', "status: 'done'"],
    ['status: Done', 'done', undefined],
    ['status: closed', 'done', undefined],
    ['status: blocked', 'blocked', 'status: done'],
  ])('with `%s` is %s', (status, state, marked) => {
    const text = task(status);
    expect(read(text).stories[0]?.status).toBe(state);
    if (marked !== undefined) expect(mark(text, 'sort')).toBe(text.replace(status, marked));
  });

  test.each(['\uFEFF', ''])('a mark keeps the byte order mark and the line ends', (start) => {
    const text = start + TASK.replaceAll('\n', '\r\n');
    expect(mark(text, 'task-7')).toBe(text.replace('To Do', 'Done'));
  });

  test('a mark is the only change that the own story may make', () => {
    const [story] = read(TASK).stories;
    const judge = (after: string) =>
      judgePrdChange({ before: toBytes(TASK), after: toBytes(after), path: 'plan.md', story: story! });
    expect(judge(TASK.replace('To Do', 'Done'))).toEqual({ isOwnMark: true, what: [] });
    expect(judge(TASK.replace('To Do', 'Done').replace('Sort by name', 'Sort by age'))?.isOwnMark).toBe(false);
    expect(textWithoutMarks(toBytes(TASK.replace('To Do', 'Done')), 'plan.md')).toBe(
      textWithoutMarks(toBytes(TASK), 'plan.md'),
    );
  });

  test.each<[text: string, message: string]>([
    [TASK.replace("title: 'Sort the list'", 'title: Sort: the list'), 'plan.md:3: front matter: '],
    [TASK.replace("title: 'Sort the list'", 'title: [1]'), 'title: must be a string, not a list'],
    [TASK.replace("title: 'Sort the list'\n", ''), 'title: is missing'],
    [TASK.replace('- task-3', '- *other'), 'anchors and aliases are not supported'],
  ])('is refused with its line', (text, message) => {
    expect(refusal(text)).toContain(message);
  });

  test.each<[text: string, note: string]>([
    [task('status: simmering'), 'sort: unknown status "simmering", treated as pending'],
    [task('status: open').replace('- [ ] It sorts\n', ''), 'sort: no acceptance criteria'],
    [
      task('status: open').replace('Acceptance Criteria', 'Tasks Created'),
      'sort: the front matter makes the file one story, so its checkboxes are text: line 9',
    ],
  ])('a note says what is unknown or missing', (text, note) => {
    expect(read(text).warnings).toContain(note);
  });

  test.each(['---\ntitle: Notes\n---\n- [ ] one\n', '---\nid: 3\ntags: [x]\n---\n- [ ] one\n'])(
    'front matter without a status does not make one',
    (text) => {
      expect(read(text).dialect).toBe('markdown-checkbox');
    },
  );
});

const PLAN = `---
name: Cart
overview: A small cart
todos:
  - id: model
    content: Add the model
    status: completed
  - id: "view"
    content: 'Add the view'
    status: in_progress
  - id: total
    content: Sum up
    status: pending
    dependencies: [model, view]
isProject: false
---

# The cart

Some text.

- [ ] a reminder
`;

describe('a plan with todos in its front matter', () => {
  test('has the todos as stories', () => {
    const prd = read(PLAN);
    expect(prd).toMatchObject({
      dialect: 'cursor-plan',
      project: 'Cart',
      stories: [
        { id: 'model', title: 'Add the model', status: 'done', dependsOn: [] },
        { id: 'view', title: 'Add the view', status: 'in_progress', dependsOn: [] },
        { id: 'total', title: 'Sum up', status: 'pending', dependsOn: ['model', 'view'] },
      ],
    });
    expect(prd.description).toBe('A small cart\n\nSome text.\n\n- [ ] a reminder');
    expect(prd.warnings).toEqual(['the todos of the front matter are the stories; checkboxes are text: line 22']);
  });

  test.each([
    ['view', 'in_progress'],
    ['total', 'pending'],
  ])('marks one word for %s', (id, word) => {
    expect(mark(PLAN, id)).toBe(PLAN.replace(`status: ${word}`, 'status: completed'));
  });

  test.each<[text: string, message: string]>([
    [PLAN.replace('[model, view]', '[missing]'), '"total" depends on "missing", which is not in this file'],
    [PLAN.replace('content: Sum up', 'size: 3'), 'todos[2].content: is missing'],
    [PLAN.replace('id: total', 'id: view'), 'the id "view" is already used'],
  ])('is refused for a todo that is not complete', (text, message) => {
    expect(refusal(text)).toContain(message);
  });
});

const INDEX = `# Tasks Index

## In Progress

- [TASK002](./TASK002-pay.md) Pay - the total is missing

## Completed
- [TASK001] Cart

## Abandoned
- [TASK003] Print
`;

describe('an index of tasks', () => {
  test('has a story for each bullet with an id, below a heading that is its status', () => {
    const prd = read(INDEX);
    expect(prd).toMatchObject({ dialect: 'task-index', project: 'Tasks Index' });
    expect(prd.stories.map(({ id, title, status, extra }) => [id, title, status, extra.file])).toEqual([
      ['TASK002', 'Pay - the total is missing', 'in_progress', './TASK002-pay.md'],
      ['TASK001', 'Cart', 'done', undefined],
      ['TASK003', 'Print', 'skipped', undefined],
    ]);
  });

  test('is not marked, and says so', () => {
    const why = 'the heading above a task is its status, so a mark would move lines';
    expect(read(INDEX).warnings).toContain(`halo does not mark this file: ${why}`);
    expect(() => mark(INDEX, 'TASK002')).toThrow(`halo does not mark TASK002: ${why}.`);
  });

  test('bullets below other headings are text', () => {
    expect(refusal('# Index\n\n## Documents\n\n- [TASK001] Cart\n')).toContain('no known PRD dialect');
  });
});
