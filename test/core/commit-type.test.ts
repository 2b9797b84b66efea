import { expect, it } from 'vitest';
import { commitScopeOf, commitTypeOf } from '../../src/core/prd/commit-type.ts';
import { commitMessage } from '../../src/git/commit/commit-message.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';

const TEMPLATE = '{type}({scope}): {title_lower} ({id})';

/** The first line of the commit of the first story. */
function subjectOf(story: object, about: object = {}, template = TEMPLATE): string {
  const text = JSON.stringify({ ...about, userStories: [{ id: 'US-001', title: 'Add the cart', ...story }] });
  const prd = parsePrd(new TextEncoder().encode(text), 'prd.json');
  const [first] = prd.stories;
  const { id, title } = first!;
  const parts = { template, id, title, type: commitTypeOf(first!, prd), scope: commitScopeOf(first!) };
  return commitMessage({ ...parts, run: 'r1', body: '', trailers: {} }).trim();
}

it.each([
  ['the default', {}, {}, 'feat: add the cart (US-001)'],
  ['the PRD', {}, { type: 'bug', name: 'x' }, 'fix: add the cart (US-001)'],
  ['the PRD, with a hyphen', {}, { type: 'tech-debt', name: 'x' }, 'refactor: add the cart (US-001)'],
  ['the story before the PRD', { type: 'docs' }, { type: 'bug', name: 'x' }, 'docs: add the cart (US-001)'],
  ['the id before the PRD', { id: 'BUG-7' }, { type: 'feature', name: 'x' }, 'fix: add the cart (BUG-7)'],
  ['a label', { label: 'Performance' }, {}, 'perf: add the cart (US-001)'],
  ['no unknown word', { type: 'epic' }, { type: 'saga', name: 'x' }, 'feat: add the cart (US-001)'],
  ['no hostile text', { type: 'feat!: x [skip ci]', scope: 'a) closes #1 (' }, {}, 'feat: add the cart (US-001)'],
  ['no other type', { type: ['bug'], scope: 7 }, {}, 'feat: add the cart (US-001)'],
  ['the scope of the story', { scope: 'Shopping Cart', type: 'bug' }, {}, 'fix(shopping-cart): add the cart (US-001)'],
])('the first line of a commit has the type of %s', (_what, story, about, subject) => {
  expect(subjectOf(story, about)).toBe(subject);
});

it('keeps acronyms at the start of a title, and the default template', () => {
  expect(subjectOf({ title: 'API keys expire' })).toBe('feat: API keys expire (US-001)');
  expect(subjectOf({ type: 'bug' }, {}, 'feat: [{id}] - {title}')).toBe('feat: [US-001] - Add the cart');
});
