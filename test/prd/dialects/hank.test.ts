import { describe, expect, test } from 'vitest';
import { markDone } from '../../../src/prd/mark-done.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const PLAN = `# Implementation Plan

<!-- Synced from GitHub Issues -->

## High Priority

- [#42] Add the cart
  - It adds up
- [#7] Set up the project [DONE]
- [#9] [COMPLETE] Choose a license

Notes:

- see the wiki
`;

function read(text: string) {
  return parsePrd(toBytes(text), 'IMPLEMENTATION_PLAN.md');
}

function statuses(text: string): Record<string, string> {
  return Object.fromEntries(read(text).stories.map(({ id, status }) => [id, status]));
}

function markStory(text: string, id: string): string {
  const landed = read(text).stories.filter((story) => story.id === id);
  const { bytes } = markDone(toBytes(text), 'plan.md', { landed, before: [] });
  return bytes === undefined ? 'unchanged' : new TextDecoder().decode(bytes);
}

describe("hank's own plan", () => {
  test('bullets that name issues are stories, and [DONE] or [COMPLETE] says that they are done', () => {
    const prd = read(PLAN);
    expect(prd.dialect).toBe('hank');
    expect(prd.stories.map(({ id, title, status }) => [id, title, status])).toEqual([
      ['#42', 'Add the cart', 'pending'],
      ['#7', 'Set up the project', 'done'],
      ['#9', 'Choose a license', 'done'],
    ]);
    expect(prd.stories[0]?.acceptance).toEqual(['It adds up']);
  });

  test('a passed story gets [DONE] at the end of its line, and nothing else changes', () => {
    expect(markStory(PLAN, '#42')).toBe(PLAN.replace('Add the cart', 'Add the cart [DONE]'));
    expect(markStory(PLAN.replaceAll('\n', '\r\n'), '#42')).toContain('- [#42] Add the cart [DONE]\r\n');
  });

  test('a bullet without an issue among the stories is not a story, and a warning names its line', () => {
    const plan =
      '# Plan\n\n## High\n\n- [#42] Add the cart\n- Add a wish list\n  - with a name\n\n## Notes\n\n- see the wiki\n';
    const prd = read(plan);
    expect(prd.stories.map(({ id }) => id)).toEqual(['#42']);
    expect(prd.warnings).toContain('bullets without an issue, like [#42], are not stories: line 6');
    expect(read(plan.replace('- Add a', '- [#43] Add a')).warnings.join()).not.toContain('bullets without');
  });

  test('a checkbox is ticked, and [DONE] counts for it as well', () => {
    const boxes = '- [ ] [#1] One\n- [ ] [#2] Two [DONE]\n- [#3] Three\n';
    expect(statuses(boxes)).toEqual({ '#1': 'pending', '#2': 'done', '#3': 'pending' });
    expect(markStory(boxes, '#1')).toBe(boxes.replace('[ ] [#1]', '[x] [#1]'));
  });

  test('a bullet with an issue is a reference in a file with checkboxes of its own', () => {
    const prd = read('- [ ] Add the cart\n- [ ] Add a wish list\n\n## References\n\n- [#42] Discussion of the cart\n');
    expect(prd.dialect).toBe('markdown-checkbox');
    expect(prd.stories.map(({ title }) => title)).toEqual(['Add the cart', 'Add a wish list']);
  });

  test('a checkbox that names an issue keeps its id if most others have only tags', () => {
    const boxes = '- [ ] [#1] One\n- [x] [front-end] Two\n- [x] [api-only] Three\n';
    expect(Object.keys(statuses(boxes))).toContain('#1');
  });

  test('links and nested bullets are not stories', () => {
    const prd = read('- [#42] Add the cart\n  - [#43] is related\n- [#44](https://example.com) is a link\n');
    expect(prd.stories.map(({ id }) => id)).toEqual(['#42']);
  });

  test('a beads id without a digit is an id if all checkboxes have the same prefix', () => {
    expect(statuses('- [ ] [cnzb-xxx] One\n- [x] [cnzb-a1f] Two\n')).toEqual({
      'cnzb-xxx': 'pending',
      'cnzb-a1f': 'done',
    });
    expect(Object.keys(statuses('- [ ] [front-end] One\n- [ ] [front-end] Two\n'))).toEqual([
      'front-end-one',
      'front-end-two',
    ]);
    expect(Object.keys(statuses('- [ ] [front-end] One\n- [ ] Two\n'))).toEqual(['front-end-one', 'two']);
  });
});
