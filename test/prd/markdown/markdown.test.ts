import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { DIALECTS } from '../../../src/prd/dialect-registry.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const parse = (...lines: string[]) => parsePrd(toBytes(lines.join('\n')), 'plan.md');
const idsOf = (...lines: string[]) => parse(...lines).stories.map(({ id }) => id);

function refusal(...lines: string[]): string {
  try {
    parse(...lines);
  } catch (error) {
    if (error instanceof HaloError && error.code === 'PRD_INVALID') return error.message;
    throw error;
  }
  throw new Error('the PRD was accepted');
}

describe('checkboxes', () => {
  test.each(['- [ ] x', '* [ ] x', '+ [ ] x', '1. [ ] x', '2) [ ] x', '  - [ ] x'])('%j is one', (line) => {
    expect(idsOf(line)).toEqual(['x']);
  });

  test.each(['- [P] x', '- [US1] x', '- [VERIFY] x', '- [x](link)', '- [x][1]', '- [x]: y', '- x'])(
    'ignores %j',
    (line) => {
      expect(idsOf('- [ ] real', line)).toEqual(['real']);
    },
  );

  test('are read with or without a space after them', () => {
    expect(parse('- [x]Set up', '- [ ]Cart').stories).toMatchObject([
      { title: 'Set up', status: 'done' },
      { title: 'Cart', status: 'pending' },
    ]);
  });

  test.each(['- [] x', '- [?] x'])('ignores %j with a warning', (line) => {
    const prd = parse('- [ ] real', '  - [?] below', line);
    expect(prd.stories).toMatchObject([{ id: 'real', acceptance: ['[?] below'] }]);
    expect(prd.warnings).toEqual(['malformed checkboxes are ignored; write [ ] or [x]: line 3']);
  });

  test.each(['- [P] x', '- [x](link)', '- [1] x'])('%j is only text', (line) => {
    expect(parse('- [ ] real', line).warnings).toEqual([]);
  });

  test('checkboxes in front matter, fences and comments are ignored', () => {
    const text = [
      '---',
      'todo:',
      '- [ ] a',
      '---',
      '```',
      '- [ ] b',
      '```',
      '<!-- - [ ] c',
      '- [ ] d -->',
      '- [ ] real <!-- e -->',
    ];
    expect(parse(...text).stories).toMatchObject([{ id: 'real', title: 'real' }]);
  });

  test('checkboxes after an unclosed fence or comment are ignored with a warning; code is not a comment', () => {
    expect(parse('- [ ] a', '```', '- [ ] b').warnings).toContain(
      'the code fence in line 2 is never closed, so everything below it is code',
    );
    expect(parse('- [ ] a', '<!--', '- [ ] b').warnings[0]).toContain('the HTML comment in line 2 is never closed');
    expect(idsOf('- [ ] strip `<!--` marks', '- [ ] b')).toEqual(['strip-marks', 'b']);
  });

  test('nested boxes, bullets and lines belong to the box above', () => {
    const prd = parse(
      '- [ ] Cart',
      '  for all',
      '',
      '  In words.',
      '',
      '  - [x] holds',
      '    items',
      '  - adds up',
      '- [ ] Till',
    );
    expect(prd.stories).toMatchObject([
      { title: 'Cart for all', description: 'In words.', acceptance: ['holds items', 'adds up'], status: 'pending' },
      { title: 'Till' },
    ]);
  });

  test('keep a paragraph below their criteria apart from the last criterion', () => {
    const prd = parse(
      '- [ ] a',
      '  - one',
      '  - two',
      '',
      '  About a,',
      '  in two lines.',
      '- [ ] b',
      '  - one',
      '',
      '    more of one',
    );
    expect(prd.stories).toMatchObject([
      { acceptance: ['one', 'two'], description: 'About a,\nin two lines.' },
      { acceptance: ['one more of one'], description: '' },
    ]);
    const labelled = parse('- [ ] a', '  Acceptance criteria:', '  - one', '  - two', '', '  About a.');
    expect(labelled.stories).toMatchObject([{ acceptance: ['one', 'two'], description: 'About a.' }]);
  });

  test('checkboxes below a line for criteria are the stories of a file without others', () => {
    expect(idsOf('Acceptance criteria:', '- [ ] a', '- [ ] b')).toEqual(['a', 'b']);
  });

  test('an indented line continues the last criterion also after a blank line', () => {
    const { stories } = parse('- [ ] a', 'Criteria:', '- [ ] one', '', '  more of one');
    expect(stories).toMatchObject([{ id: 'a', acceptance: ['one more of one'] }]);
  });

  test('checkboxes below a plain bullet are stories', () => {
    expect(idsOf('- Group:', '  - [ ] a', '  - [ ] b', '- [ ] c')).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['[x]', 'done'],
    ['[X]', 'done'],
    ['[ ]', 'pending'],
    ['[/]', 'in_progress'],
    ['[~]', 'blocked'],
    ['[-]', 'blocked'],
    ['[>]', 'blocked'],
    ['[!]', 'blocked'],
  ])('%s is %s', (mark, status) => {
    const prd = parse(`- ${mark} a`);
    expect(prd.stories[0]?.status).toBe(status);
    expect(prd.warnings).toHaveLength(status === 'blocked' ? 1 : 0);
  });

  test('checkboxes without a text are refused with their line', () => {
    expect(refusal('- [ ] a', '- [ ]')).toBe('plan.md:2: the story of line 2: the checkbox has no text');
  });
});

describe('ids', () => {
  test.each([
    ['US-001 a', 'US-001', 'a'],
    ['T001 [P] [US1] a', 'T001', 'a'],
    ['P0-1.2 a', 'P0-1.2', 'a'],
    ['10.1.3 a', '10.1.3', 'a'],
    ['#12 a', '#12', 'a'],
    ['**1.2 a** — b', '1.2', 'a — b'],
    ['**T001**: a', 'T001', 'a'],
    ['3. a', '3', 'a'],
    ['3) a', '3', 'a'],
    ['T1 - a', 'T1', 'a'],
  ])('%j has the id %s', (text, id, title) => {
    expect(parse(`- [ ] ${text}`).stories[0]).toMatchObject({ id, title });
  });

  test('are not numbers or words inside a text', () => {
    expect(idsOf('- [ ] 5 commands', '- [ ] UTF-8 everywhere', '- [ ] S3 upload', '- [ ] 1.5x faster')).toEqual([
      '5-commands',
      'utf-8-everywhere',
      's3-upload',
      '1-5x-faster',
    ]);
  });

  test('are generated from the text otherwise, and duplicates get a number', () => {
    expect(idsOf('- [ ] Ändere das!', '- [x] Ändere das!', '- [ ] 修正', '- [ ] 🐛')).toEqual([
      'ändere-das',
      'ändere-das~2',
      '修正',
      'item',
    ]);
  });

  test('ids of groups are not stories: N above N.1 of the same indent', () => {
    const prd = parse('- [ ] 1. Core', '- [ ] 1.1 Cart', '- [ ] 1.2 Till', '- [ ] 2. Pay');
    expect(prd.stories.map(({ id }) => id)).toEqual(['1.1', '1.2', '2']);
    expect(prd.warnings).toEqual(['1: this is a group of stories, not a story']);
  });
});

describe('sections', () => {
  test('set priorities if every open story has one', () => {
    const prd = parse(
      '## Low Priority',
      '- [ ] a',
      '## P0',
      '- [ ] b',
      '## Priority 2',
      '- [ ] c',
      '## Done',
      '- [x] d',
    );
    expect(prd.stories.map(({ priority }) => priority)).toEqual([3, 0, 2, undefined]);
    const mixed = parse('## Setup', '- [ ] a', '## P1', '- [ ] b');
    expect(mixed.stories.map(({ priority }) => priority)).toEqual([undefined, undefined]);
    expect(mixed.warnings[0]).toContain('the stories run in file order');
  });

  test('are written once for all stories of a priority', () => {
    const text = DIALECTS['markdown-numbered'].write(parse('## P1', '- [ ] T1 a', '- [ ] T2 b', '## P2', '- [ ] T3 c'));
    expect(text.match(/^## .*$/gm)).toEqual(['## Priority 1', '## Priority 2']);
  });

  test.each(['Optional', 'Future Enhancements', 'Nice to have', 'Deferred', 'Out of scope'])(
    '%s is skipped',
    (heading) => {
      expect(parse(`## ${heading}`, '### More', '- [ ] a', '- [x] b').stories).toMatchObject([
        { status: 'skipped' },
        { status: 'done' },
      ]);
    },
  );

  test('sections with examples are ignored with a warning', () => {
    const prd = parse('## Example', '- [ ] a', '## Tasks', '- [ ] b');
    expect(prd.stories.map(({ id }) => id)).toEqual(['b']);
    expect(prd.warnings).toEqual(['checkboxes below an example heading are ignored: line 2']);
  });
});

describe('dependencies', () => {
  test('are in brackets or in a separate bullet, as ids or positions', () => {
    expect(parse('- [ ] T001: a', '- [ ] T002: b (depends on T001)').stories[1]?.dependsOn).toEqual(['T001']);
    const prd = parse('- [ ] a', '- [ ] b', '- [ ] c', '  - **Depends on:** 1, 2', '  - works');
    expect(prd.stories[2]).toMatchObject({ dependsOn: ['a', 'b'], acceptance: ['works'] });
  });

  test('dependencies on words are dropped with a warning, on unknown ids refused', () => {
    expect(parse('- [ ] a (depends on the new API)').warnings).toEqual([
      'a-depends-on-the-new-api: "the new API" is not an id, so it is not a dependency',
    ]);
    expect(refusal('- [ ] T001: a (depends on: T009)')).toContain(
      '"T001" depends on "T009", which is not in this file',
    );
  });
});

describe('story headings', () => {
  const story = (heading: string, ...criteria: string[]) => [heading, '', '**Acceptance Criteria:**', ...criteria, ''];

  test('carry description, priority and dependencies', () => {
    const lines = ['### US-001: Cart', '**Priority:** High', '**Description:** As a customer.', '', 'More of it.', ''];
    const prd = parse(
      ...story('### US-000: Base', '- [x] a'),
      ...lines,
      '**Depends on:** US-000',
      '',
      '#### Acceptance Criteria',
      '1. adds up',
    );
    expect(prd.stories[1]).toMatchObject({
      id: 'US-001',
      title: 'Cart',
      priority: 1,
      description: 'As a customer.\n\nMore of it.',
      dependsOn: ['US-000'],
      acceptance: ['adds up'],
    });
  });

  test('are done if all of their boxes are ticked or they have the sign', () => {
    const lines = [
      ...story('### US-1: a', '- [x] x'),
      ...story('### US-2: b', '- [x] x', '- [ ] y'),
      ...story('### US-3: c ✅', '- x'),
    ];
    expect(parse(...lines).stories.map(({ status }) => status)).toEqual(['done', 'pending', 'done']);
  });

  test('without criteria have the boxes below lists and commands as steps', () => {
    const files = ['**Files:**', '- one.ts', '', '- [ ] x'];
    const { stories } = parse('### US-1: a', '**Status:** Open', ...files, '**Run:** npm test', '', '- [ ] y');
    expect(stories).toMatchObject([{ acceptance: ['x', 'y'], extra: { Files: '- one.ts', Run: 'npm test' } }]);
  });

  test('have the first of two priorities, and labels in bullets', () => {
    const { stories } = parse('### US-1: a', '- **Priority:** 1', '- **Priority:** 2', '**Acceptance:** b');
    expect(stories).toMatchObject([{ priority: 1, extra: { Priority: '2' } }]);
  });

  test('have criteria below a line without a colon', () => {
    expect(parse('### US-1: a', 'Acceptance Criteria', '- x').stories).toMatchObject([{ acceptance: ['x'] }]);
  });

  test('have criteria below a heading of their own', () => {
    const { stories } = parse('# Shop', '## Add a cart', '### Acceptance Criteria', '- [ ] x');
    expect(stories).toMatchObject([{ id: 'add-a-cart', acceptance: ['x'] }]);
  });

  test('have notes without their common indent', () => {
    const { stories } = parse(...story('### US-1: a', '- x'), '**Notes:**', '', '  one', '', '  two');
    expect(stories).toMatchObject([{ notes: 'one\n\ntwo' }]);
  });

  test.each([[[]], [['**Status:** Done']]])('are done without a warning if the status agrees: %j', (lines) => {
    expect(parse('### US-1: a', ...lines, '**Acceptance Criteria:**', '- [x] x').warnings).toEqual([]);
  });

  test.each([
    ['### US-1: a', '- [x] x', 'pending', 'the checkboxes are done but the status is not; treated as done'],
    ['### US-1: a ✅', '- [ ] x', 'pending', 'the mark of the heading is done but the status is not; treated as done'],
    ['### US-1: a', '- [ ] x', 'done', 'the status is done but the checkboxes are not; treated as done'],
  ])('are done if any mark says so: %s, %s, %s', (heading, box, status, warning) => {
    const prd = parse(heading, '', `**Status:** ${status}`, '', '**Acceptance Criteria:**', '', box);
    expect(prd.stories.map((each) => each.status)).toEqual(['done']);
    expect(prd.warnings).toContain(`US-1: ${warning}`);
  });

  test.each([
    ['### Task 3 — T003', 'T003', 'Task 3'],
    ['### Story 4: Cart', 'story-4', 'Cart'],
    ['## 1.2 Cart', '1.2', 'Cart'],
  ])('%s is %s', (heading, id, title) => {
    expect(parse(...story(heading, '- x')).stories).toMatchObject([{ id, title }]);
  });

  test('story headings of the same kind count without criteria, also nested ones', () => {
    const prd = parse('# PRD-12: Shop', ...story('## US-1: a', '- x'), '## US-2: b', '', 'words');
    expect(prd.stories).toMatchObject([{ id: 'US-1' }, { id: 'US-2', description: 'words', acceptance: [] }]);
  });

  test('exclude boxes elsewhere, with a warning', () => {
    const prd = parse(...story('### US-1: a', '- [ ] x'), '## Metrics', '- [ ] fast');
    expect(prd.stories).toHaveLength(1);
    expect(prd.warnings).toEqual(['checkboxes outside of stories are treated as text: line 7']);
  });

  const GUESS =
    'the headings are read as stories and the checkboxes below them as criteria; no line says "Acceptance Criteria"';
  const GROUPS =
    'the checkboxes are read as stories, and headings above them as groups without a status or dependencies';

  test.each([
    ['ids alone', ['### US-1: a', '- [ ] x'], [GUESS]],
    ['ids, and a status each', ['### US-1: a', '**Status:** Open', '- [ ] x'], []],
    ['no boxes', ['### US-1: a', '**Status:** Open', '### US-2: b', 'words'], ['US-1, US-2: no acceptance criteria']],
    ['a criteria label', story('### US-1: a', '- [ ] x'), []],
    ['numbers above boxes without ids', ['## 1. a', '- [ ] x', '## b', '- [ ] y'], [`${GROUPS}: line 1`]],
    [
      'a status above boxes of which some are ticked',
      ['## a', '**Status:** Done', '- [ ] x', '- [x] y'],
      ['a: the status is done but the checkboxes are not; treated as done'],
    ],
    ['no ids and no status', ['## a', '- [ ] x'], []],
  ])('story headings and boxes that may be either have a note: %s', (_what, lines, notes) => {
    expect(parse(...lines).warnings).toEqual(notes);
  });
});
