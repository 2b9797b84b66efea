import { describe, expect, test } from 'vitest';
import { explainPrd } from '../../src/prd/explain-prd.ts';
import { toBytes } from '../support/prd/prd-writers.ts';

/** The lines with their meaning, as `number story: meaning`. */
const explain = (text: string, path = 'plan') =>
  explainPrd(toBytes(text), path).map(({ line, story, became }) => `${line} ${story ?? '-'}: ${became}`);

describe('each line of a file is explained', () => {
  test.each<[what: string, text: string, meanings: string[]]>([
    [
      'JSON, a member on each line',
      `{
  "$schema": "x",
  "project": "shop",
  "goals": ["fast"],
  "userStories": [
    {
      "id": "a",
      "title": "Add",
      "acceptanceCriteria": [
        "It adds"
      ],
      "steps": ["other"],
      "size": 3,
      "dependsOn": [],
      "passes": false
    }
  ]
}
`,
      [
        '2 -: not read',
        '3 -: name of the project',
        '4 -: context "goals"',
        '7 a: id',
        '8 a: title',
        '9 a: criteria',
        '10 a: criterion',
        '12 a: field "steps" for the agent',
        '13 a: field "size" for the agent',
        '14 a: dependencies',
        '15 a: progress',
      ],
    ],
    ['JSON on one line', '{"tasks": [{"id": "a", "title": "Add", "done": true}]}', ['1 a: id, title, progress']],
    [
      'JSON Lines',
      '{"id": "a", "title": "Add", "issue_type": "task"}\n{"id": "b", "title": "Pay", "issue_type": "task"}\n',
      ['1 a: id, title, field "issue_type" for the agent', '2 b: id, title, field "issue_type" for the agent'],
    ],
    ['two stories on a line', '[{"id": "a", "title": "Add"}, {"id": "b", "title": "Pay"}]', ['1 -: stories a, b']],
    [
      'YAML',
      'version: 2\ntasks:\n  - title: Add\n    acceptance:\n      - It adds\n    description: |\n      Two\n      lines\n',
      [
        '1 -: context "version"',
        '3 item-1: title',
        '4 item-1: criteria',
        '5 item-1: criterion',
        '6 item-1: description',
        '7 item-1: description',
        '8 item-1: description',
      ],
    ],
    [
      'the sprint status',
      'development_status:\n  epic-1: done\n  1-1-cart: done\n',
      ['2 -: not read', '3 1-1-cart: title and progress'],
    ],
    [
      'checkboxes',
      '# Shop\n\nA small shop.\n\n## Rules\n\nBe quick.\n\n## Phase 1\n\n- [ ] T1: Add\n  - It adds\n  - Depends on: T2\n- [ ] T2: Pay\n\n  Later.\n\n<!-- why -->\n',
      [
        '1 -: name of the project',
        '3 -: description of the project',
        '5 -: heading of the context "Rules"',
        '7 -: context "Rules"',
        '9 -: group of 2 stories',
        '11 T1: title',
        '12 T1: criterion',
        '13 T1: dependencies',
        '14 T2: title',
        '16 T2: description',
        '18 -: not read: a comment',
      ],
    ],
    [
      'story headings',
      '# Shop\n\n### US-1: Add\n\n**Priority:** 1\n**Status:** open\n**Risk:** low\n**Notes:** ask\n\n**Acceptance Criteria:**\n\n- [ ] It adds\n',
      [
        '1 -: name of the project',
        '3 US-1: title',
        '5 US-1: priority',
        '6 US-1: progress',
        '7 US-1: field "Risk" for the agent',
        '8 US-1: notes',
        '10 US-1: heading of the criteria',
        '12 US-1: criterion',
      ],
    ],
    [
      'a task with front matter',
      '---\nid: t-1\ntitle: Add\nstatus: To Do\n---\n\nText.\n\n## Acceptance Criteria\n- [ ] It adds\n',
      [
        '2 t-1: id',
        '3 t-1: title',
        '4 t-1: progress',
        '7 t-1: description',
        '9 t-1: heading of the criteria',
        '10 t-1: criterion',
      ],
    ],
    ['other front matter', '---\ntags: [x]\n---\n\n- [ ] Add\n', ['2 -: context "front matter"', '5 add: title']],
    [
      'a heading without content',
      '# Shop\n\n## Nothing\n\n## Tasks\n\n- [ ] Add\n',
      [
        '1 -: name of the project',
        '3 -: not read: headings without content are ignored',
        '5 -: group of 1 story',
        '7 add: title',
      ],
    ],
  ])('%s', (_what, text, meanings) => {
    const lines = text.split('\n');
    expect(explain(text, text.startsWith('version') ? 'tasks.yaml' : 'plan')).toEqual(meanings);
    for (const { line, text: shown, became, unread } of explainPrd(toBytes(text), 'plan')) {
      expect(shown).toBe(lines[line - 1]?.trim());
      expect(unread).toBe(became.startsWith('not read') ? true : undefined);
    }
  });
});
