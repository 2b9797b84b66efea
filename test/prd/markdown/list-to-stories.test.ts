import { describe, expect, it } from 'vitest';
import { listToStories } from '../../../src/prd/markdown/list-to-stories.ts';

const titles = (text: string) => listToStories(text).map(({ title }) => title);

describe('the lists of a text', () => {
  it.each([
    ['bullets', '- Add the cart\n* Check out\n+ Pay', ['Add the cart', 'Check out', 'Pay']],
    ['numbered items', '1. Add the cart\n2) Check out', ['Add the cart', 'Check out']],
    ['checkboxes', '- [ ] Add the cart\n- [x] Check out', ['Add the cart', 'Check out']],
    ['plain lines', 'Add the cart\n\nCheck out', ['Add the cart', 'Check out']],
    ['items between paragraphs', 'Some text.\n\n- Add the cart\n\nMore text.', ['Add the cart']],
    ['nested items', '- Cart\n  - Add\n  - Remove', ['Cart', 'Add', 'Remove']],
    ['nothing', '# Only a heading\n\n```\n- code\n```\n<!-- - hidden -->', []],
  ])('become stories: %s', (_what, text, expected) => {
    expect(titles(text)).toEqual(expected);
  });

  it('keep what is done', () => {
    expect(listToStories('- [x] One\n- [X] Two\n- [ ] Three').map(({ done }) => done)).toEqual([true, true, false]);
  });

  it.each([
    ['Fix the critical bug', 1],
    ['Close the security hole', 1],
    ['Add the cart', 2],
    ['Dark mode (optional)', 3],
    ['A nice to have badge', 3],
  ])('have a priority by their words: %s is %i', (title, priority) => {
    expect(listToStories(`- ${title}`)).toMatchObject([{ priority }]);
  });

  it('have the priority of the nearest heading that has one', () => {
    const text = '## High Priority\n- Optional: a\n### Details\n- b\n## Low Priority\n- critical c\n## Notes\n- d';
    expect(listToStories(text).map(({ priority }) => priority)).toEqual([1, 1, 3, 2]);
  });

  it('are read in bounded time, whatever they contain', () => {
    const before = performance.now();
    listToStories('- ['.repeat(100_000));
    listToStories('<!--'.repeat(100_000));
    listToStories(`${' '.repeat(200_000)}-`);
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
