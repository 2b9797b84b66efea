import { describe, expect, test } from 'vitest';
import type { HaloError } from '../../../src/core/failure/errors.ts';
import { explainPrd } from '../../../src/prd/explain-prd.ts';
import { judgePrdChange } from '../../../src/prd/judge-change.ts';
import { markDone } from '../../../src/prd/mark-done.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { updatePlan } from '../../../src/features/plan/prd/update-plan.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const read = (text: string, path = 'plan') => parsePrd(toBytes(text), path);
const refusal = (text: string, path = 'plan') => {
  try {
    read(text, path);
    return 'read';
  } catch (error) {
    return (error as HaloError).message;
  }
};
/** The text with one story marked. */
const marked = (text: string, id: string, path = 'plan') => {
  const { stories } = read(text, path);
  const landed = stories.filter((story) => story.id === id);
  const before = stories.filter(({ status }) => status === 'done');
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(markDone(toBytes(text), path, { landed, before }).bytes);
};
const lines = (...objects: unknown[]) => objects.map((each) => `${JSON.stringify(each)}\n`).join('');
const issue = (id: string, more: object = {}) => ({
  id,
  title: `Title ${id}`,
  status: 'open',
  issue_type: 'task',
  ...more,
});
const needs = (...links: [id: string, type: string][]) => ({
  dependencies: links.map(([depends_on_id, type]) => ({ depends_on_id, type })),
});

describe('issues of beads', () => {
  test.each<[what: string, issues: object[], dependsOn: Record<string, string[]>]>([
    ['`blocks` orders issues', [issue('a'), issue('b', needs(['a', 'blocks']))], { a: [], b: ['a'] }],
    ['a child does not wait for its parent', [issue('a'), issue('b', needs(['a', 'parent-child']))], { a: [], b: [] }],
    [
      'a finding does not wait for its source',
      [issue('a'), issue('b', needs(['a', 'discovered-from']))],
      { a: [], b: [] },
    ],
    [
      'what waits for an epic waits for all of its issues',
      [
        issue('e', { issue_type: 'epic' }),
        issue('e.1'),
        issue('x', needs(['e', 'parent-child'])),
        issue('z', needs(['e', 'blocks'])),
      ],
      { 'e.1': [], x: [], z: ['e.1', 'x'] },
    ],
    [
      'nothing waits for a deleted issue',
      [issue('a', { status: 'tombstone' }), issue('b', needs(['a', 'blocks']))],
      { b: [] },
    ],
  ])('%s', (_what, issues, dependsOn) => {
    const prd = read(lines(...issues));
    expect(prd.dialect).toBe('beads');
    expect(Object.fromEntries(prd.stories.map((story) => [story.id, story.dependsOn]))).toEqual(dependsOn);
  });

  test.each<[what: string, text: string]>([
    ['one a line', lines(issue('a'), issue('b', { status: 'closed' }))],
    ['with CRLF and an empty line', lines(issue('a'), issue('b', { status: 'closed' })).replaceAll('\n', '\r\n\r\n')],
    ['in a list', JSON.stringify([issue('a'), issue('b', { status: 'closed' })])],
  ])('are read %s', (_what, text) => {
    expect(read(text).stories.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'pending'],
      ['b', 'done'],
    ]);
  });

  test('one issue is enough', () => {
    expect(read(lines(issue('a'))).stories).toHaveLength(1);
  });

  test('an epic is the group of its issues, and its text is for their agents', () => {
    const prd = read(lines(issue('e', { issue_type: 'epic', design: 'Keep it small' }), issue('e.1'), issue('f')));
    expect(prd.stories.map(({ id, extra }) => [id, extra.group])).toEqual([
      ['e.1', 'Title e'],
      ['f', undefined],
    ]);
    expect(prd.context).toMatchObject([{ label: 'Title e', stories: ['e.1'] }]);
    expect(prd.context[0]?.text).toContain('Keep it small');
  });

  test.each<[issue: object, note: string]>([
    [issue('m', { issue_type: 'message' }), 'deleted entries and entries without work are left out: m'],
    [{ _type: 'memory', id: 'k', title: 'x', key: 'k' }, 'deleted entries and entries without work are left out: k'],
    [issue('e', { issue_type: 'epic' }), 'e (Title e) contains no stories'],
    [issue('p', { status: 'pinned' }), 'p: the issue is pinned, so it is skipped'],
    [issue('w', needs(['gone', 'blocks'])), 'w: needs "gone", which is not a story; the agent gets it as text'],
    [issue('s', { status: 'simmering' }), 's: unknown status "simmering", treated as pending'],
  ])('a note says what becomes of %j', (entry, note) => {
    expect(read(lines(issue('a'), entry)).warnings).toContainEqual(expect.stringContaining(note));
  });

  test('a mark replaces only the status of its line', () => {
    const text = lines(issue('a', { z: '\u00e9' }), issue('b'), issue('c', { status: 'closed' })).replace(/\n$/, '');
    const expected = text.replace('"title":"Title b","status":"open"', '"title":"Title b","status":"closed"');
    expect(marked(text, 'b')).toBe(expected);
    expect(marked(`\uFEFF${text}`, 'b')).toBe(`\uFEFF${expected}`);
  });

  test('a mark replaces a repeated status everywhere', () => {
    const text = '{"id":"a","title":"A","issue_type":"task","status":"open","status":"open"}';
    expect(marked(text, 'a')).toBe(text.replaceAll('open', 'closed'));
  });

  test('the dates that a close writes do not change the work', () => {
    const open = lines(issue('a'), issue('b'));
    const closed = lines(issue('a', { status: 'closed', closed_at: '2024-01-01', close_reason: 'Done' }), issue('b'));
    expect(read(closed).specHash).toBe(read(open).specHash);
  });

  test.each<[text: string, message: RegExp]>([
    [`${lines(issue('a'))}{"id": }\n`, /^plan:2:\d+: The text is not valid JSON/],
    [`<<<<<<< HEAD\n${lines(issue('a'))}`, /plan/],
    [lines(issue('a'), issue('a')), /plan:2: \[1\]\.id: the id "a" is already used/],
  ])('%j is refused with its line', (text, message) => {
    expect(refusal(text)).toMatch(message);
  });

  test('a plan in JSON Lines cannot be updated', () => {
    const plan = { project: '', stories: [] };
    expect(() => updatePlan(toBytes(lines(issue('a'), issue('b'))), plan, 'plan')).toThrow('cannot be updated');
  });
});

describe('issues as gh prints them', () => {
  const text = JSON.stringify([
    { number: 7, title: 'Add the cart', body: 'It adds up.', state: 'OPEN', id: 'I_kwDO' },
    { number: 9, title: 'Pay', body: '', state: 'CLOSED', labels: [{ name: 'shop' }] },
  ]);

  test('have their number as id, and their body as description', () => {
    expect(read(text)).toMatchObject({
      dialect: 'issues',
      stories: [
        { id: '#7', title: 'Add the cart', description: 'It adds up.', status: 'pending' },
        { id: '#9', status: 'done', extra: { labels: [{ name: 'shop' }] } },
      ],
    });
  });

  test('are marked with the word of the file', () => {
    expect(marked(text, '#7')).toBe(text.replace('"OPEN"', '"CLOSED"'));
    const alone = JSON.stringify([{ number: 7, title: 'Add the cart', state: 'OPEN' }]);
    expect(marked(alone, '#7')).toBe(alone.replace('"OPEN"', '"CLOSED"'));
  });
});

const YAML = `# The plan
version: 1
tasks:
  - id: 1.10
    title: Add the cart   # first
    completed: false
    acceptance:
      - Size: at most ten
      - "It adds up"
  - title: 'Pay'
    completed: true
    description: |
      Two lines
      of text
`;

describe('a list of tasks in YAML', () => {
  test('is read like JSON', () => {
    const [cart, pay] = read(YAML, 'tasks.yaml').stories;
    expect(cart).toMatchObject({ id: '1.10', acceptance: ['Size: at most ten', 'It adds up'], status: 'pending' });
    expect(pay).toMatchObject({ title: 'Pay', description: 'Two lines\nof text\n', status: 'done' });
  });

  test('is known by its content, too', () => {
    expect(read(YAML, '-').dialect).toBe('tasks');
    expect(read('# Notes\n\ntasks:\n- [ ] one\n', '-').dialect).toBe('markdown-checkbox');
  });

  const story = (body: string) => `tasks:\n${body}`;
  test.each<[what: string, before: string, after: string]>([
    ['a flag', story('  - title: A # x\n    done: false # y\n'), story('  - title: A # x\n    done: true # y\n')],
    ['a word', story('- {title: A, status: pending}\n'), story('- {title: A, status: done}\n')],
    ['a word in quotes', story("- title: A\n  status: 'Todo'\n"), story("- title: A\n  status: 'Done'\n")],
    ['a word without a value', story('- title: A\n  status:\n'), story('- title: A\n  status: done\n')],
    ['no field', story('- title: A # why\n  size: 3\n'), story('- title: A # why\n  size: 3\n  passes: true\n')],
    ['no field, at the end', story('  - title: A'), story('  - title: A\n    passes: true')],
    ['no field in braces', story('- {title: A}\n'), story('- {title: A, passes: true}\n')],
    ['a key without a colon', story('- {title: A, big}\n'), story('- {title: A, big, passes: true}\n')],
    [
      'a block at the end',
      story('- title: A\n  description: |\n    x\n'),
      story('- title: A\n  description: |\n    x\n  passes: true\n'),
    ],
    ['CRLF', story('- title: A\r\n  size: 3\r\n'), story('- title: A\r\n  size: 3\r\n  passes: true\r\n')],
  ])('is marked: %s', (_what, before, after) => {
    expect(marked(before, 'item-1', 'tasks.yaml')).toBe(after);
  });

  test.each<[what: string, text: string, message: string]>([
    ['a broken line', 'tasks:\n  - title: "A\n', 'tasks.yaml:'],
    [
      'an alias',
      'a: &x {title: A}\ntasks:\n  - *x\n',
      'tasks.yaml:1: The text is not YAML that halo reads: anchors and aliases',
    ],
    ['an anchor of a key', 'tasks:\n  - &x title: A\n', 'a key must be a text'],
    ['a tag', 'tasks:\n  - title: !!binary aGFsbG8=\n', 'tags are not supported'],
    ['a repeated key', 'tasks:\n  - title: A\n    done: false\n    done: true\n', 'tasks.yaml:4:'],
    ['two documents', 'tasks:\n  - title: A\n---\ntasks:\n  - title: B\n', 'tasks.yaml:3:'],
    ['deep nesting', `tasks: ${'['.repeat(100)}`, 'more than 64 levels'],
    ['nested dashes', `tasks:\n  ${'- '.repeat(5000)}x\n`, 'more than 64 levels'],
    ['a file without stories', 'services:\n  web:\n    image: x\n', 'its top-level keys are "services"'],
    ['a large file', `tasks:\n${'- title: A\n'.repeat(60_000)}`, 'the file has more than 512 KiB'],
  ])('is refused: %s', (_what, text, message) => {
    expect(refusal(text, 'tasks.yaml')).toContain(message);
  });
});

describe('the sprint status of BMAD', () => {
  const text = `project: shop\ndevelopment_status:\n  epic-1: in-progress\n  1-1-cart: done # first\n  1-2-pay-now: ready-for-dev # next\n  2-1-ship: review\n  epic-1-retrospective: optional\n`;

  test('gives the states of the stories', () => {
    const prd = read(text, 'sprint-status.yaml');
    expect(prd).toMatchObject({ dialect: 'sprint-status', project: 'shop', context: [] });
    expect(prd.stories.map(({ id, title, status, extra }) => [id, title, status, extra.group])).toEqual([
      ['1-1-cart', 'Cart', 'done', 'Epic 1'],
      ['1-2-pay-now', 'Pay now', 'pending', 'Epic 1'],
      ['2-1-ship', 'Ship', 'in_progress', 'Epic 2'],
    ]);
    expect(prd.warnings).toEqual(['keys of other things than stories are left out: epic-1-retrospective']);
  });

  test('is marked in its word', () => {
    expect(marked(text, '1-2-pay-now', 'sprint-status.yaml')).toBe(text.replace('ready-for-dev', 'done'));
  });

  test('a mark of the own story changes nothing else', () => {
    const [, story] = read(text, 'sprint-status.yaml').stories;
    const after = toBytes(text.replace('ready-for-dev', 'done'));
    const change = judgePrdChange({ before: toBytes(text), after, path: 'sprint-status.yaml', story: story! });
    expect(change).toEqual({ isOwnMark: true, what: [] });
  });

  test.each<[body: string, note: string]>([
    ['  1-1-cart: simmering\n', '1-1-cart: unknown status "simmering", treated as pending'],
    ['  1-1-cart: done\n  cleanup: done\n', 'keys of other things than stories are left out: cleanup'],
  ])('a note names what is unknown in %j', (body, note) => {
    expect(read(`development_status:\n${body}`, 'sprint-status.yaml').warnings).toContain(note);
  });
});

describe("issues of Linear's API", () => {
  const node = (number: number, more: object = {}) => ({
    id: `uuid-${number}`,
    identifier: `ENG-${number}`,
    title: `Do ${number}`,
    description: `Text ${number}.`,
    priority: 0,
    state: { name: 'Todo', type: 'unstarted' },
    ...more,
  });
  const answer = (nodes: object[], more: object = {}) =>
    JSON.stringify({ data: { issues: { nodes, ...more } } }, null, 2);
  const state = (name: string, type?: string) => ({ state: { name, ...(type !== undefined && { type }) } });

  test.each<[what: string, more: object, story: object]>([
    ['an urgent one', { priority: 1 }, { priority: 0 }],
    ['a low one', { priority: 4 }, { priority: 3 }],
    ['one without a priority', {}, { priority: undefined, status: 'pending' }],
    ['a started one', state('Building', 'started'), { status: 'in_progress' }],
    ['a completed one', state('Shipped', 'completed'), { status: 'done' }],
    ['a canceled one', state('Nope', 'canceled'), { status: 'skipped' }],
    ['a duplicate', state('Twin', 'duplicate'), { status: 'skipped' }],
    ['one with the name of its state only', state('Done'), { status: 'done' }],
    ['one with labels', { labels: { nodes: [{ name: 'cart' }] } }, { extra: { labels: ['cart'] } }],
  ])('%s is a story with its identifier', (_what, more, story) => {
    const prd = read(answer([node(7, more)]));
    expect(prd.dialect).toBe('linear');
    expect(prd.stories).toMatchObject([{ id: 'ENG-7', title: 'Do 7', description: 'Text 7.', ...story }]);
  });

  test('the list alone, and one of a team, are read as well', () => {
    expect(read(JSON.stringify([node(1)])).dialect).toBe('linear');
    expect(read(JSON.stringify({ data: { team: { issues: { nodes: [node(1)] } } } })).dialect).toBe('linear');
    expect(read(JSON.stringify([{ identifier: 'ENG-1', title: 'a', state: 'open' }])).dialect).not.toBe('linear');
  });

  test('relations that block are dependencies, from both sides', () => {
    const relation = (type: string, identifier: string) => ({ type, issue: { identifier } });
    const blocked = { inverseRelations: { nodes: [relation('blocks', 'ENG-1'), relation('related', 'ENG-3')] } };
    const blocks = { relations: { nodes: [{ type: 'blocks', relatedIssue: { identifier: 'ENG-3' } }] } };
    const away = { inverseRelations: { nodes: [relation('blocks', 'OPS-9')] } };
    const page = { pageInfo: { hasNextPage: true } };
    const prd = read(answer([node(1, away), node(2, { ...blocked, ...blocks }), node(3)], page));
    expect(prd.stories.map(({ id, dependsOn }) => [id, dependsOn])).toEqual([
      ['ENG-1', []],
      ['ENG-2', ['ENG-1']],
      ['ENG-3', ['ENG-2']],
    ]);
    expect(prd.warnings).toEqual([
      'Linear has more issues: the file has only one page of them (pageInfo.hasNextPage)',
      'ENG-1: needs "OPS-9", which is not a story; the agent gets it as text',
    ]);
  });

  test.each<[state: object, marked: string]>([
    [state('Todo', 'unstarted'), '"type": "completed"'],
    [state('Todo'), '"name": "Done"'],
  ])('a mark of %j changes one word', (given, marked) => {
    const text = answer([node(1, given), node(2, given)]);
    const { stories } = read(text);
    const { bytes } = markDone(toBytes(text), 'linear.json', { landed: stories.slice(0, 1), before: [] });
    const key = marked.slice(0, marked.indexOf(':'));
    expect(new TextDecoder().decode(bytes)).toBe(text.replace(new RegExp(`${key}: "[^"]*"`), marked));
  });

  test('is explained by the fields of each issue', () => {
    const nodes = [
      node(1),
      node(2, { inverseRelations: { nodes: [{ type: 'blocks', issue: { identifier: 'ENG-1' } }] } }),
    ];
    const lines = explainPrd(
      toBytes(
        nodes
          .map((each) => JSON.stringify(each))
          .join(',\n')
          .replace(/^/, '[\n')
          .concat('\n]'),
      ),
      'a.json',
    );
    expect(lines.map(({ story }) => story)).toEqual(['ENG-1', 'ENG-2']);
    expect(lines[1]?.became).toContain('dependencies');
  });
});
