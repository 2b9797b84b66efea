import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

/** What is expected of a file: `note` is part of a warning, `quiet` means that there is none. */
interface Reading {
  ids: string[];
  status?: string[];
  criteria?: number[];
  needs?: string[][];
  note?: string | RegExp;
  quiet?: true;
}

const CRITERIA = '**Acceptance Criteria:**\n';
const STORY = `### US-2: Pay\n${CRITERIA}- [ ] paid\n`;

const COMMONMARK: [string, string, Reading][] = [
  [
    'underlined headings are headings',
    `Shop\n====\n\nUS-1 Cart\n---------\n\n${CRITERIA}\n- [ ] adds\n\nUS-2 Pay\n--------\n\n${CRITERIA}\n- [x] paid\n`,
    { ids: ['US-1', 'US-2'], status: ['pending', 'done'], criteria: [1, 1], quiet: true },
  ],
  [
    'a rule below a label or a list is a rule',
    `### US-1: Cart\n**Status:** Done\n---\n${CRITERIA}- [ ] adds\n---\n${STORY}`,
    { ids: ['US-1', 'US-2'], status: ['done', 'pending'], criteria: [1, 1] },
  ],
  [
    'indented code is code',
    'For example:\n\n    - [ ] sample\n\n- [ ] real\n',
    { ids: ['real'], note: 'text: line 3' },
  ],
  [
    'an indented list below an item is a list',
    '- [ ] a\n\n    - b\n\n    - c\n',
    { ids: ['a'], criteria: [2], quiet: true },
  ],
  [
    '<pre> is code',
    '<pre>\n\n- [x] sample\n\n</pre>\n\n- [ ] real\n',
    { ids: ['real'], note: 'line 3 (1 of 1 ticked)' },
  ],
  ['quotes are text', '> - [ ] quoted\n\n- [ ] real\n', { ids: ['real'], note: 'text: line 1' }],
  [
    'a code span can contain the start of a comment',
    '- [ ] strip ``<!-- ` `` marks\n- [ ] b\n',
    { ids: ['strip-marks', 'b'] },
  ],
  ['an escaped backtick begins no code span', '- [ ] a \\` <!-- b --> ` c\n', { ids: ['a-c'] }],
  ['a comment in an item ends with it', '- [ ] a <!-- b\n- [ ] c\n', { ids: ['a-b', 'c'] }],
  [
    'a comment can have several lines',
    '- [ ] a <!-- b\n  c --> d\n',
    { ids: ['a-d'], note: 'comments are ignored: line 1' },
  ],
  ['`---` begins front matter only above a key', '---\n\n# Plan\n\n- [ ] a\n\n---\n', { ids: ['a'], quiet: true }],
  ['definitions of links are text', '- [ ] a\n\n[x]: https://example.com\n', { ids: ['a'] }],
  ['a fence ends with its item', '- [ ] a\n  ```\n  code\n- [ ] b\n', { ids: ['a', 'b'] }],
  [
    'a block of Markdown can contain code with the same fence',
    `### US-1: Cart\n${CRITERIA}- [ ] adds\n\n\`\`\`markdown\n# Readme\n\`\`\`sh\nnpm test\n\`\`\`\n\`\`\`\n\n${STORY}`,
    { ids: ['US-1', 'US-2'] },
  ],
  [
    'a heading in a code block is named if it looks like a story',
    `### US-1: Cart\n${CRITERIA}- [ ] adds\n\n\`\`\`\n${STORY}\`\`\`\n`,
    { ids: ['US-1'], note: 'line 6 looks like a story, but it is in the code block of lines 5 to 9: ### US-2: Pay' },
  ],
];

const READINGS: [string, string, Reading][] = [
  [
    'criteria below a checkbox belong to it, not to the heading above',
    '### 1.1 Parse\n\n- [x] 1.1 Parse\n  - **Done when**: it parses\n\n### 1.2 Print\n\n- [ ] 1.2 Print\n  - **Done when**: it prints\n',
    { ids: ['1.1', '1.2'], status: ['done', 'pending'] },
  ],
  [
    'bullets that explain a checkbox belong to its text',
    '### Task 1: Frames\n\n- [ ] **Step 1: Encode**\n\nTwo lengths:\n- short\n- long\n\n- [ ] **Step 2: Test**\n  - [ ] with a mask\n',
    { ids: ['task-1'], criteria: [2] },
  ],
  [
    'labelled criteria count',
    '# Story 2.2: Cart\n\n## Acceptance Criteria\n\n**AC1 - Add:**\n- **Given** an item\n- **Then** it is there\n\n**AC2 - Remove:** it is gone\n',
    { ids: ['story-2.2'], criteria: [2] },
  ],
  [
    'numbers with words are ids if set off',
    '- [x] **01-cart** — Cart\n- [ ] 02-pay: Pay\n  - Deps: 01-cart\n- [ ] 3-column layout\n',
    {
      ids: ['01-cart', '02-pay', '3-column-layout'],
      needs: [[], ['01-cart'], []],
    },
  ],
  [
    'Kiro: a hyphen is started, an asterisk optional',
    '- [x] 1. a\n- [-] 2. b\n- [ ]* 3. c\n- [ ] 4. d\n',
    {
      ids: ['1', '2', '3', '4'],
      status: ['done', 'in_progress', 'skipped', 'pending'],
      note: '3: the task is optional',
    },
  ],
  [
    'Kiro: a task with requirements of its own is a story beside its tests',
    '- [ ] 1. a\n  - _Requirements: 1.1_\n\n- [ ] 1.1 test a\n  - x\n',
    { ids: ['1', '1.1'] },
  ],
  [
    'Kiro: a task whose tasks have its requirements is a group',
    '- [ ] 1. a\n  - _Requirements: 1.1_\n\n- [ ] 1.1 b\n  - _Requirements: 1.1_\n',
    { ids: ['1.1'] },
  ],
  [
    'titles that repeat under other ids are named',
    '## Preview\n- [ ] **Task 1: Add the cart**\n## Created\n- [ ] #10 - Add the cart (parallel: true)\n',
    { ids: ['task-1-add-the-cart', '#10'], note: 'same title may be the same work: task-1-add-the-cart and #10' },
  ],
  [
    'ticked boxes without a story that is done are named first',
    `### US-1: a\n${CRITERIA}- b\n\n## Checks\n- [x] c\n`,
    { ids: ['US-1'], note: /^all 1 checkboxes are ticked, but no story is done/ },
  ],
  [
    'the lines of unknown states are named',
    `### US-1: a\n**Status:** Simmering\n${CRITERIA}- b\n`,
    { ids: ['US-1'], note: 'words for a status that halo does not know: line 2' },
  ],
];

function assertReading(text: string, { ids, status, criteria, needs, note, quiet }: Reading): void {
  const { stories, warnings } = parsePrd(toBytes(text), 'plan.md');
  expect(stories.map(({ id }) => id)).toEqual(ids);
  if (status !== undefined) expect(stories.map((story) => story.status)).toEqual(status);
  if (criteria !== undefined) expect(stories.map(({ acceptance }) => acceptance.length)).toEqual(criteria);
  if (needs !== undefined) expect(stories.map(({ dependsOn }) => dependsOn)).toEqual(needs);
  if (quiet === true) expect(warnings).toEqual([]);
  if (note !== undefined) expect(warnings.join('\n')).toMatch(note);
}

describe('the blocks of CommonMark', () => {
  test.each(COMMONMARK)('%s', (_what, text, reading) => assertReading(text, reading));
});

describe('what a line means', () => {
  test.each(READINGS)('%s', (_what, text, reading) => assertReading(text, reading));
});

describe('a file that is refused', () => {
  const refusal = (text: string) => {
    try {
      parsePrd(toBytes(text), 'plan.md');
    } catch (error) {
      if (error instanceof HaloError) return error.message;
    }
    return 'accepted';
  };

  test.each(['<<<<<<< HEAD', '>>>>>>> main', '||||||| base'])('names the line of the marker %j', (marker) => {
    expect(refusal(`- [ ] a\n${marker}\n- [x] a\n`)).toBe('plan.md:2: a marker of an unfinished merge');
  });

  test('a file with very deep lists or quotes is refused with the line where they begin', () => {
    for (const sign of ['- ', '> '])
      expect(refusal(`- [ ] a\n\n${sign.repeat(200)}b\n`)).toBe('plan.md:3: lists and quotes are nested too deeply');
  });

  test('names the line between both sides of a conflict as well', () => {
    expect(refusal('<<<<<<< HEAD\n- [x] a\n=======\n- [ ] a\n>>>>>>> main\n').split('\n')).toHaveLength(3);
  });

  test.each(['Title\n=======\n\n- [ ] a\n', '- [ ] a\n\n```\n<<<<<<< HEAD\n```\n', '- [ ] a\n\n>>>>>>>\n'])(
    'has no conflict: %j',
    (text) => {
      expect(refusal(text)).toBe('accepted');
    },
  );
});
