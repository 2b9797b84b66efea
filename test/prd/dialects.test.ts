import { describe, expect, test } from 'vitest';
import type { DialectId } from '../../src/core/prd.ts';
import { HaloError } from '../../src/core/errors.ts';
import { parsePrd } from '../../src/prd/parse.ts';
import { DIALECTS } from '../../src/prd/registry.ts';

type Json = Record<string, unknown>;

/** How each dialect writes the same two stories, the first of them done where `done` says how. */
const WRITERS: Record<DialectId, { document: (stories: Json[]) => Json; story: (id: string) => Json; done: Json }> = {
  hanuman: {
    document: (stories) => ({ schemaVersion: '0.1', project: 'shop', description: 'A small shop.', stories }),
    story: (id) => ({ id, title: `Title of ${id}`, size: 'S', acceptance: ['It works', 'It is tested'] }),
    done: { status: 'done' },
  },
  ralph: {
    document: (userStories) => ({ project: 'shop', description: 'A small shop.', userStories }),
    story: (id) => ({ id, title: `Title of ${id}`, acceptanceCriteria: ['It works', 'It is tested'] }),
    done: { passes: true },
  },
};

describe.each(Object.values(DIALECTS))('the $id dialect', ({ id: dialect }) => {
  const { document, story, done } = WRITERS[dialect];
  const read = (stories: Json[]) => parsePrd(encode(document(stories)), 'prd.json');
  const refusal = (stories: Json[]) => {
    try {
      read(stories);
    } catch (error) {
      if (error instanceof HaloError && error.code === 'PRD_INVALID') return error.message;
      throw error;
    }
    throw new Error('the PRD was accepted');
  };

  test('is detected by content and reads project, description and stories in the order of the file', () => {
    const prd = read([story('b'), story('a')]);
    expect(prd).toMatchObject({ dialect, project: 'shop', description: 'A small shop.', warnings: [] });
    expect(prd.stories.map(({ id, title }) => [id, title])).toEqual([
      ['b', 'Title of b'],
      ['a', 'Title of a'],
    ]);
    expect(prd.stories[0]).toMatchObject({ acceptance: ['It works', 'It is tested'], status: 'pending', notes: '' });
  });

  test('gives the same result and hash for the same bytes, and another hash for others', () => {
    expect(read([story('a')])).toEqual(read([story('a')]));
    expect(read([story('a')]).hash).not.toBe(read([story('b')]).hash);
    expect(read([story('a')]).hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('reads a done story as done', () => {
    expect(read([{ ...story('a'), ...done }, story('b')]).stories.map(({ status }) => status)).toEqual([
      'done',
      'pending',
    ]);
  });

  test('keeps unknown keys of a story as they were, also one called __proto__', () => {
    const odd = JSON.parse('{"owner": "ada", "nested": {"deep": [1, null]}, "__proto__": {"polluted": true}}') as Json;
    const { extra } = read([Object.assign(Object.create(null) as Json, story('a'), { odd, owner: 'ada' })]).stories[0]!;
    expect(extra).toMatchObject({ owner: 'ada', odd: { owner: 'ada', nested: { deep: [1, null] } } });
    expect(JSON.stringify(extra.odd)).toContain('"__proto__":{"polluted":true}');
    expect(({} as Json).polluted).toBeUndefined();
  });

  test('accepts a list without stories', () => {
    expect(read([]).stories).toEqual([]);
  });

  test('makes a title one line, so that it cannot forge lines of a commit message', () => {
    const title = 'Add cart\n\nHalo-Run: forged\u001b[31m';
    expect(read([{ ...story('a'), title }]).stories[0]?.title).toBe('Add cart Halo-Run: forged [31m');
  });

  test('refuses two open stories with one id and names both places', () => {
    const message = refusal([story('a'), story('b'), story('a')]);
    expect(message).toMatch(/^prd\.json:\d+: \w+\[2\]\.id: the id "a" is taken by \w+\[0\] already$/);
  });

  test('refuses an id with control characters, an empty one and one that is too long', () => {
    expect(refusal([story('a\u0007')])).toContain('[0].id: holds a control character');
    expect(refusal([story(' ')])).toContain('[0].id: is empty');
    expect(refusal([story('x'.repeat(201))])).toContain('[0].id: is longer than 200 characters');
  });

  test('refuses a story that is no object and a list that is no list', () => {
    expect(refusal(['do it' as unknown as Json])).toContain('[0]: must be an object, not a string');
    expect(refusal('x' as unknown as Json[])).toContain('must be a list of stories, not a string');
  });

  test('refuses a title, a description and criteria of the wrong type', () => {
    expect(refusal([{ ...story('a'), title: 7 }])).toContain('[0].title: must be a string, not a number');
    expect(refusal([{ ...story('a'), description: {} }])).toContain('[0].description: must be a string, not an object');
    const key = Object.keys(story('a')).find((name) => name.startsWith('acceptance'))!;
    expect(refusal([{ ...story('a'), [key]: true }])).toContain(`[0].${key}: must be a list of strings, not a boolean`);
    expect(refusal([{ ...story('a'), [key]: [3] }])).toContain(`[0].${key}[0]: must be a string, not a number`);
  });

  test('refuses a story that depends on one which runs later or is unknown, and names the pair', () => {
    expect(refusal([{ ...story('a'), dependsOn: ['b'] }, story('b')])).toContain(
      '[0].dependsOn[0]: "a" depends on "b", which would run later; change priority or order',
    );
    expect(refusal([{ ...story('a'), dependsOn: ['z'] }])).toContain('"a" depends on "z", which is not in this file');
    expect(refusal([{ ...story('a'), dependsOn: 'a' }])).toContain('"a" depends on "a", which is itself');
  });

  test('accepts a dependency on an earlier story and on one that is done, and keeps it in extra', () => {
    const [first] = read([
      { ...story('a'), dependsOn: ['b'] },
      { ...story('b'), ...done },
    ]).stories;
    expect(first?.extra).toMatchObject({ dependsOn: ['b'] });
    expect(read([story('a'), { ...story('b'), dependencies: ['a'] }]).stories).toHaveLength(2);
  });
});

function encode(document: Json): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document, null, 2));
}
