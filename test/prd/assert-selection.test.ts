import { describe, expect, it } from 'vitest';
import { assertSelection } from '../../src/prd/assert-prd.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { toBytes } from '../support/prd/prd-writers.ts';
import { errorOf } from '../support/error-of.ts';

const STORIES = [
  { id: 'US-001', title: 'One', passes: true },
  { id: 'US-002', title: 'Two', dependsOn: ['US-001'] },
  { id: 'US-003', title: 'Three', dependsOn: ['US-002'] },
  { id: 'US-004', title: 'Four', dependsOn: ['US-002', 'US-003'] },
];
const prd = parsePrd(toBytes(JSON.stringify({ userStories: STORIES })), 'prd.json');

const check = (ids: string[], of = prd) =>
  errorOf(() => Promise.resolve().then(() => assertSelection(of, ids, 'prd.json')));
const refusal = (...ids: string[]) => check(ids);

describe('a selection of stories', () => {
  it('is complete if dependencies are done or selected', () => {
    expect(() => assertSelection(prd, ['US-002'], 'prd.json')).not.toThrow();
    expect(() => assertSelection(prd, ['US-003', 'US-002'], 'prd.json')).not.toThrow();
    expect(() => assertSelection(prd, undefined, 'prd.json')).not.toThrow();
  });

  it('is refused with the names of dependencies that are not done', async () => {
    expect(await refusal('US-003')).toMatchObject({
      code: 'PRD_INVALID',
      message: 'US-003 depends on US-002, which is not done.',
      hint: 'Run it first, or select it, too.',
    });
    expect(await refusal('US-004')).toMatchObject({ message: 'US-004 depends on US-002, US-003, which are not done.' });
    expect(await refusal('US-003', 'US-004')).toMatchObject({
      message: 'US-003, US-004 depend on US-002, which is not done.',
    });
  });

  it('is refused for an unknown id, with a similar one if there is one', async () => {
    expect(await refusal('US-03')).toMatchObject({
      code: 'STORY_NOT_FOUND',
      message: 'prd.json has no story "US-03"; did you mean "US-003"?',
    });
    expect(await refusal('check\u001b[31mout')).toMatchObject({
      message: expect.not.stringContaining('\u001b') as string,
      hint: 'Use one of its stories: US-001, US-002, US-003, US-004.',
    });
  });

  it.each(['blocked', 'skipped'])('is refused for a story that the PRD excludes as %s', async (status) => {
    const tasks = [
      { id: 'T-1', title: 'One', status },
      { id: 'T-2', title: 'Two' },
    ];
    const excluding = parsePrd(toBytes(JSON.stringify({ tasks })), 'tasks.json');
    expect(await check(['T-1'], excluding)).toMatchObject({
      code: 'PRD_INVALID',
      message: `prd.json marks T-1 as ${status}.`,
    });
  });
});
