import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { readPrdFile } from '../../../src/prd/parse-prd.ts';
import {
  JSON_WRITERS,
  toBytes,
  type Json,
  type JsonId,
  type JsonWriter,
  type Sample,
} from '../../support/prd/prd-writers.ts';

const DIALECT_IDS = Object.keys(JSON_WRITERS) as JsonId[];

describe.each(DIALECT_IDS)('the JSON dialect %s', (dialect) => {
  const { document, story: write }: JsonWriter = JSON_WRITERS[dialect];
  const story = (id: string, more: Partial<Sample> = {}) => write({ id, ...more });
  const read = (stories: Json[]) =>
    readPrdFile(toBytes(JSON.stringify(document(stories), null, 2)), 'prd.json', { as }).prd;
  const as = dialect === 'daedalus' ? dialect : undefined;
  const refusal = (stories: unknown[]) => {
    try {
      read(stories as Json[]);
    } catch (error) {
      if (error instanceof HaloError && error.code === 'PRD_INVALID') return error.message;
      throw error;
    }
    throw new Error('the PRD was accepted');
  };
  const acceptanceKey = Object.keys(story('a')).find((key) =>
    ['acceptance', 'criteria', 'done', 'steps', 'verification', 'testStrategy'].some((part) => key.includes(part)),
  )!;
  const idKey = Object.keys(story('a')).find((key) => story('a')[key] === 'a')!;

  test('keeps unknown keys of a story unchanged, including __proto__', () => {
    const odd = JSON.parse('{"oddKey": "ada", "nested": {"deep": [1, null]}, "__proto__": {"polluted": true}}') as Json;
    const { extra } = read([Object.assign(Object.create(null) as Json, story('a'), { odd, oddKey: 'ada' })])
      .stories[0]!;
    expect(extra).toMatchObject({ oddKey: 'ada', odd: { oddKey: 'ada', nested: { deep: [1, null] } } });
    expect(JSON.stringify(extra.odd)).toContain('"__proto__":{"polluted":true}');
    expect(({} as Json).polluted).toBeUndefined();
  });

  test('refuses two open stories with one id and names both locations', () => {
    const message = refusal([story('a'), story('b'), story('a')]);
    expect(message).toMatch(/^prd\.json:\d+: \S*\[2\]\.id: the id "a" is already used by \S*\[0\]$/);
  });

  test('refuses an id with control characters, an empty one and one that is too long', () => {
    const place = (index: number) => new RegExp(`\\[${index}\\]\\.${idKey}: `);
    expect(refusal([story('a\u0007')])).toMatch(place(0));
    expect(refusal([story('a\u0007')])).toContain('contains a control or hidden character');
    expect(refusal([story('b'), story(' ')])).toContain('is empty');
    expect(refusal([story('x'.repeat(201))])).toContain('is longer than 200 characters');
  });

  test('refuses a story that is not an object', () => {
    expect(refusal([story('a'), 'do it'])).toMatch(/\[1\]: must be an object, not a string|no known PRD dialect/);
  });

  test('refuses a title, a description and criteria of the wrong type', () => {
    expect(refusal([{ ...story('a'), title: 7 }])).toContain('[0].title: must be a string, not a number');
    expect(refusal([{ ...story('a'), description: 7 }])).toContain('[0].description: must be a string, not a number');
    expect(refusal([{ ...story('a'), [acceptanceKey]: true }])).toMatch(/must be a list of strings, not a boolean/);
    expect(refusal([{ ...story('a'), [acceptanceKey]: [3] }])).toContain(
      `[0].${acceptanceKey}[0]: must be a string, not a number`,
    );
  });

  test('accepts dependencies on earlier, later and done stories', () => {
    const [first, second] = read([story('a', { needs: ['b'] }), story('b', { done: true })]).stories;
    expect([first?.dependsOn, second?.dependsOn]).toEqual([['b'], []]);
    expect(read([story('a'), story('b', { needs: ['a'] })]).stories[1]?.dependsOn).toEqual(['a']);
  });
});
