import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const A = { id: 'a', title: 'Cart', steps: ['x'] };
const B = { id: 'b', title: 'Till', steps: ['x'] };
const parse = (document: unknown) => parsePrd(toBytes(JSON.stringify(document)), 'prd.json');
const idsOf = (document: unknown) => parse(document).stories.map(({ id }) => id);

function refusal(document: unknown): string {
  try {
    parse(document);
  } catch (error) {
    if (error instanceof HaloError && error.code === 'PRD_INVALID') return error.message;
    throw error;
  }
  throw new Error('the PRD was accepted');
}

describe('the list of stories is found', () => {
  test.each<[string, unknown, string]>([
    ['at the top level', [A, B], 'array'],
    ['in an array that went through a script', { 0: A, 1: B }, 'array'],
    ['in a map by id, where an own id counts', { stories: { a: { title: 'Cart', steps: ['x'] }, x: B } }, 'stories'],
    ['under the full one of several keys', { tasks: [], features: [A, B] }, 'features'],
    ['under user_stories', { user_stories: [A, B] }, 'stories'],
    ['in the tag master', { other: { tasks: [{ id: 'z', title: 'z' }] }, master: { tasks: [A, B] } }, 'taskmaster'],
    ['in the only tag', { feature: { tasks: [A, B], metadata: {} } }, 'taskmaster'],
    ['in phases', { phases: [{ tasks: [A] }, { stories: [B] }] }, 'grouped'],
    ['in stories that hold stories', { userStories: [{ title: 'Epic', tasks: [A, B] }] }, 'grouped'],
    [
      'in features that hold stories, inside of a wrapper',
      { data: { features: [{ user_stories: [A, B] }] } },
      'grouped',
    ],
    ['inside of a wrapper', { prd: { user_stories: [A, B] } }, 'grouped'],
  ])('%s', (_where, document, dialect) => {
    expect(idsOf(document)).toEqual(['a', 'b']);
    expect(parse(document).dialect).toBe(dialect);
  });

  test('the list of stories is found with the name of its group as extra', () => {
    const prd = parse({
      epics: [
        { name: 'Pay', tasks: [A] },
        { id: 7, tasks: [{ ...B, group: 'own' }] },
      ],
    });
    expect(prd.stories.map(({ extra }) => extra.group)).toEqual(['Pay', 'own']);
  });

  test('the progress of a group is not that of its stories', () => {
    expect(parse({ phases: [{ status: 'done', tasks: [A] }] }).stories[0]?.status).toBe('pending');
  });

  test('lists of ids in phases are labels, not stories', () => {
    expect(idsOf({ tasks: [A, B], phases: [{ name: 'one', tasks: ['a', 'b'] }] })).toEqual(['a', 'b']);
  });

  test('subtasks are never stories: objects stay unchanged, texts are criteria', () => {
    const subtasks = [{ id: 1, title: 'part', dependencies: [9] }];
    const prd = parse({
      tasks: [
        { id: 1, title: 'x', testStrategy: 'run it', subtasks },
        { id: 2, title: 'y', subtasks: ['part'] },
      ],
    });
    expect(prd.stories).toMatchObject([{ acceptance: ['run it'], extra: { subtasks } }, { acceptance: ['part'] }]);
  });
});

describe('a warning names an ignored list', () => {
  test('a second list', () => {
    expect(parse({ userStories: [A], tasks: [B] }).warnings).toEqual(['tasks contains stories too, which are ignored']);
  });

  test('a group without stories', () => {
    expect(parse({ phases: [{ tasks: [A] }, { name: 'later', goal: 'y' }] }).warnings).toEqual([
      'phases[1] (later) contains no stories',
    ]);
  });
});

describe('refused is', () => {
  test.each<[string, unknown, string]>([
    ['a product document', { title: 'x', phases: [{ goal: 'y', requirements: {} }] }, '"title", "phases"'],
    ['stories spread over lists by state', { completedFeatures: [A], currentWork: [B] }, '"completedFeatures"'],
    ['a list of texts', { tasks: ['a', 'b'] }, 'tasks[0]: must be an object, not a string'],
    ['a list of mixed types', { tasks: [A, 3] }, 'tasks[1]: must be an object, not a number'],
    ['a list that is none', { userStories: 'a' }, 'userStories: must be a list of stories, not a string'],
    ['several tags', { one: { tasks: [A] }, two: { tasks: [B] } }, 'several tags (one, two) but no tag "master"'],
    ['a story without any text', { tasks: [{ id: 'a', title: '', description: ' ' }] }, 'tasks[0].title: is missing'],
  ])('%s', (_what, document, message) => {
    expect(refusal(document)).toContain(message);
  });
});

test('the same ids in two tags are not duplicates', () => {
  expect(idsOf({ master: { tasks: [A] }, other: { tasks: [A] } })).toEqual(['a']);
});
