import { expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { convertPrd } from '../../../src/prd/convert-prd.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';

const STORY = { id: 'S1', title: 'Add a cart', size: 'M', acceptance: ['It holds items'] };

test('the size stays in extra and stories have no priority, so that file order counts', () => {
  const prd = parse({ schemaVersion: '0.1', stories: [{ ...STORY, priority: 9 }] });
  expect(prd.stories[0]).toMatchObject({ priority: undefined, extra: { size: 'M', priority: 9 } });
});

test('the title of the file is the project, and it is written back as the title', () => {
  const document = {
    schemaVersion: '0.1',
    title: 'Shop',
    principles: ['Small steps'],
    stories: [{ ...STORY, constraints: ['No new dependency'] }],
  };
  const prd = parse(document);
  expect(prd.project).toBe('Shop');
  expect(prd.context).toEqual([{ label: 'principles', text: '- Small steps' }]);
  expect(prd.stories[0]?.extra).toEqual({ size: 'M', constraints: ['No new dependency'] });
  expect(JSON.parse(convertPrd(bytesOf(document), 'prd.json', 'hanuman').text)).toEqual({
    schemaVersion: '0.1',
    title: 'Shop',
    description: '',
    principles: ['Small steps'],
    stories: [{ ...STORY, constraints: ['No new dependency'], passes: false }],
  });
});

/** The schema of hanuman-dev 0.1: a list of texts where halo has a text, and an object for the repository. */
test.each([
  [{ principles: ['a', 'b\n- c'], repo: { name: 'shop', path: '.' } }, ['a', 'b\n- c'], { name: 'shop', path: '.' }],
  [{ principles: 'Be careful.\n- Test', repo: 'shop' }, ['Be careful.\n- Test'], undefined],
  [{ principles: '- one\n- two\n  more' }, ['one', 'two\nmore'], undefined],
  [{ Principles: { first: 'Small' } }, ['first: Small'], undefined],
])('writes lists and objects as its schema has them, from %j', (about, principles, repo) => {
  const from = { project: 'Shop', ...about, userStories: [{ ...STORY, constraints: 'No tables' }] };
  const converted = convertPrd(bytesOf(from), 'prd.json', 'hanuman');
  const written = JSON.parse(converted.text) as { repo?: unknown; stories: object[] };
  expect(written).toMatchObject({ principles, stories: [{ constraints: ['No tables'] }] });
  expect(written.repo).toEqual(repo);
  expect(converted.lost.some((loss) => loss.includes('repo'))).toBe('repo' in about && repo === undefined);
  expect(converted.lost.some((loss) => /principles|constraints/i.test(loss))).toBe(false);
});

test('writes the principles and constraints of a Markdown file as lists', () => {
  const about = '# Shop\n\n## Principles\n\n- Small steps\n- Test first\n\n## User Stories\n\n';
  const story = '### T1: Cart\n\n**Constraints:** No tables\n\n**Acceptance Criteria:**\n\n- [ ] It adds\n';
  const { text, lost } = convertPrd(new TextEncoder().encode(about + story), 'plan.md', 'hanuman');
  expect(JSON.parse(text)).toMatchObject({
    principles: ['Small steps', 'Test first'],
    stories: [{ constraints: ['No tables'] }],
  });
  expect(lost).toEqual([]);
});

test('another schema version is refused', () => {
  const message = 'prd.json:1: schemaVersion: must be "0.1"';
  expect(refusal({ schemaVersion: '0.2', stories: [] })).toBe(message);
  expect(refusal({ schemaVersion: 0.1, stories: [] })).toBe(message);
});

test('ten stories are accepted and eleven refused', () => {
  const stories = Array.from({ length: 11 }, (_, index) => ({ ...STORY, id: `S${index}` }));
  expect(parse({ schemaVersion: '0.1', stories: stories.slice(1) }).stories).toHaveLength(10);
  expect(refusal({ schemaVersion: '0.1', stories })).toBe('prd.json:1: stories: has 11 stories; the limit is 10');
});

test.each(['L', 's', 3, null])('the size %j is refused', (size) => {
  expect(refusal({ schemaVersion: '0.1', stories: [{ ...STORY, size }] })).toBe(
    `prd.json:1: stories[0].size: must be "S" or "M", not ${JSON.stringify(size)}; split larger stories`,
  );
});

test('each required key that is missing is named', () => {
  expect(refusal({ schemaVersion: '0.1', stories: [{}] }).split('\n')).toEqual([
    'prd.json:1: stories[0].id: is missing',
    'prd.json:1: stories[0].title: is missing',
    'prd.json:1: stories[0].size: is missing; it must be "S" or "M"',
    'prd.json:1: stories[0].acceptance: is missing',
  ]);
});

test('an acceptance list without criteria, or with a blank one, is refused', () => {
  expect(refusal({ schemaVersion: '0.1', stories: [{ ...STORY, acceptance: [] }] })).toContain(
    'at least one criterion',
  );
  expect(refusal({ schemaVersion: '0.1', stories: [{ ...STORY, acceptance: [' '] }] })).toContain(
    'stories[0].acceptance[0]: is empty',
  );
});

test('an id must be a string', () => {
  expect(refusal({ schemaVersion: '0.1', stories: [{ ...STORY, id: 1 }] })).toBe(
    'prd.json:1: stories[0].id: must be a string, not a number',
  );
});

function parse(document: unknown) {
  return parsePrd(bytesOf(document), 'prd.json');
}

function bytesOf(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document));
}

function refusal(document: unknown): string {
  try {
    parse(document);
  } catch (error) {
    if (error instanceof HaloError) return error.message;
    throw error;
  }
  throw new Error('the PRD was accepted');
}

test('warns of a file without a title, which the schema of hanuman requires', () => {
  const warning = 'title is missing; the schema of hanuman requires it';
  expect(parse({ schemaVersion: '0.1', stories: [STORY] }).warnings).toContain(warning);
  expect(parse({ schemaVersion: '0.1', title: 'Shop', stories: [STORY] }).warnings).toEqual([]);
});
