import { describe, expect, it } from 'vitest';
import { contextText, storyText } from '../../src/core/prd/story-text.ts';
import { resolveTestsFirst } from '../../src/core/prd/tests-first-field.ts';
import { assertTestsCommand } from '../../src/prd/assert-prd.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { errorOf } from '../support/error-of.ts';

const read = (text: string, path = 'prd.json') => parsePrd(new TextEncoder().encode(text), path);
const prdOf = (stories: object[], more: object = {}) =>
  read(
    JSON.stringify({
      ...more,
      userStories: stories.map((fields, index) => ({ id: `US-00${index + 1}`, title: 'A', passes: false, ...fields })),
    }),
  );

describe('testsFirst in a PRD', () => {
  it.each([
    ['off', { testsFirst: 'on' }, {}, 'on'],
    ['off', { tests_first: true }, {}, 'on'],
    ['off', { 'Tests first': 'report' }, {}, 'report'],
    ['off', {}, { testsFirst: 'on' }, 'on'],
    ['off', { testsFirst: 'off' }, { testsFirst: 'on' }, 'off'],
    ['off', { testsFirst: 'report' }, { testsFirst: 'on' }, 'report'],
    ['off', {}, {}, 'off'],
    ['report', { testsFirst: 'on' }, {}, 'on'],
    ['on', { testsFirst: 'off' }, {}, 'on'],
    ['on', {}, { testsFirst: false }, 'on'],
    ['report', { testsFirst: false }, { testsFirst: 'off' }, 'report'],
  ] as const)('makes %s with the story %j in the PRD %j to %s: never less strict', (configured, story, file, mode) => {
    const prd = prdOf([story], file);
    expect(resolveTestsFirst(configured, prd.stories[0]!, prd)).toBe(mode);
  });

  it('is read from Markdown', () => {
    const story = (field: string) =>
      `### US-001: Cart\n\n${field}\n\nSum up.\n\n**Acceptance Criteria:**\n- [ ] It adds.\n`;
    for (const field of ['**Tests first:** on', 'Tests first: on']) {
      const prd = read(`# Shop\n\n${story(field)}`, 'prd.md');
      expect(prd.stories[0]).toMatchObject({ description: 'Sum up.', acceptance: ['It adds.'] });
      expect(resolveTestsFirst('off', prd.stories[0]!, prd)).toBe('on');
    }
    const ofPrd = read(`# Shop\n\n**Tests first:** on\n\n${story('**Size:** S')}`, 'prd.md');
    expect(resolveTestsFirst('off', ofPrd.stories[0]!, ofPrd)).toBe('on');
  });

  it.each([
    [[{ testsFirst: 'always' }], {}, /userStories\[0\].*: testsFirst must be one of off, report, on/],
    [[{}], { testsFirst: 3 }, /testsFirst: testsFirst must be one of/],
  ])('is refused with another value: %j %j', async (stories, file, message) => {
    expect(await errorOf(() => Promise.resolve().then(() => prdOf(stories, file)))).toMatchObject({
      code: 'PRD_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });

  it('is not in the text for the agent', () => {
    const prd = prdOf([{ testsFirst: 'on', size: 'S' }], { testsFirst: 'on', audience: 'Cooks' });
    expect(storyText(prd.stories[0]!).details.map(({ label }) => label)).toEqual(['size']);
    expect(contextText(prd, 'US-001').shown.map(({ label }) => label)).toEqual(['audience']);
  });

  it('needs tests.command, unless the story is done', async () => {
    const open = prdOf([{ testsFirst: 'on' }, {}]);
    expect(
      await errorOf(() => Promise.resolve().then(() => assertTestsCommand(open, undefined, 'prd.json'))),
    ).toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'prd.json wants tests first for US-001, but tests.command is not set.',
    });
    expect(() => assertTestsCommand(open, 'pytest {files}', 'prd.json')).not.toThrow();
    const done = prdOf([{ testsFirst: 'on', passes: true }, {}]);
    expect(() => assertTestsCommand(done, undefined, 'prd.json')).not.toThrow();
  });
});
