import { describe, expect, test } from 'vitest';
import { buildPrompt } from '../../src/agents/prompt/build-prompt.ts';
import { FIELDS, TEXT_FIELD_NAMES, TEXT_FIELDS } from '../../src/core/prd/fields.ts';
import { convertPrd } from '../../src/prd/convert-prd.ts';
import { judgePrdChange } from '../../src/prd/judge-change.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { FULL_DIALECTS, toBytes } from '../support/prd/prd-writers.ts';

const STORY = { id: 'US-001', title: 'Add', description: 'Add it.', acceptanceCriteria: ['It adds'], priority: 1 };
const write = (more: object) =>
  toBytes(
    JSON.stringify({ project: 'shop', description: 'A shop', userStories: [{ ...STORY, passes: false, ...more }] }),
  );
const read = (more: object) => parsePrd(write(more), 'prd.json');

/** Checkboxes have a title, criteria and dependencies only. */
const WITHOUT_TEXTS = ['hank', 'markdown-numbered', 'markdown-checkbox'];

describe.each(TEXT_FIELD_NAMES)('the optional text %s', (name) => {
  const { keys, labels, title, limit, keeps, isSpecification } = TEXT_FIELDS[name];
  const [key = name] = keys;

  test.each(keys)('is read under the key %s, as a text or a list of lines', (each) => {
    expect(read({ [each]: 'Mind the gap' }).stories[0]).toMatchObject({ [name]: 'Mind the gap', extra: {} });
    expect(read({ [each]: ['Mind', 'it'] }).stories[0]).toMatchObject({ [name]: 'Mind\nit', extra: {} });
  });

  test.each(labels)('is read under the label %s', (label) => {
    const text = `# Shop\n\n### US-001: Add\n\n**${label}:** Mind the gap\n\n**Acceptance Criteria:**\n\n- [ ] It adds\n`;
    expect(parsePrd(toBytes(text), 'plan').stories[0]).toMatchObject({ [name]: 'Mind the gap', extra: {} });
  });

  test.each(FULL_DIALECTS.filter((each) => !WITHOUT_TEXTS.includes(each)))(
    'is written in the dialect %s',
    (dialect) => {
      const { text } = convertPrd(write({ [key]: 'Mind the gap' }), 'prd.json', dialect);
      expect(parsePrd(toBytes(text), 'prd').stories[0]?.[name]).toBe('Mind the gap');
    },
  );

  test.each(WITHOUT_TEXTS)('is named as lost in the dialect %s', (dialect) => {
    const { lost } = convertPrd(write({ [key]: 'Mind the gap' }), 'prd.json', dialect as 'hank');
    expect(lost.join('\n')).toContain(`the ${name} is not kept`);
  });

  test('is part of the prompt, cut to its limit', () => {
    const prd = read({ [key]: `A${'x'.repeat(limit)}Z` });
    const { text } = buildPrompt({ prd, story: prd.stories[0]!, progress: [], guidance: [], gates: [] });
    expect(text).toContain(keeps === 'end' ? `${title}:\nx` : `${title}:\nAx`);
    expect(prd.warnings.join('\n')).toContain(`${name} has ${limit + 2} characters`);
  });

  test('changes the work only if it says what to build', () => {
    expect(read({ [key]: 'a' }).specHash !== read({ [key]: 'b' }).specHash).toBe(isSpecification);
    const [story] = read({ [key]: 'a' }).stories;
    const change = judgePrdChange({
      before: write({ [key]: 'a' }),
      after: write({ [key]: 'b' }),
      path: 'prd.json',
      story: { ...story!, id: 'other' },
    });
    expect(change?.what).toEqual([`changes the ${title.toLowerCase()} of US-001`]);
  });
});

test('each key and each label belongs to one field', () => {
  const rows = Object.values(FIELDS);
  for (const names of [rows.flatMap(({ keys }) => keys), rows.flatMap(({ labels }) => labels)])
    expect(names.filter((each, index) => names.indexOf(each) !== index)).toEqual([]);
});
