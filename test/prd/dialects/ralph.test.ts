import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { DIALECTS } from '../../../src/prd/dialect-registry.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

type Json = Record<string, unknown>;

const STORY = { id: 'US-001', title: 'Add a cart', acceptanceCriteria: ['It holds items'] };

describe('project and branch', () => {
  test.each(['project', 'name', 'projectName'])('the project may be called %s', (key) => {
    expect(parse([], { [key]: 'Shop' }).project).toBe('Shop');
  });

  test.each(['', '  '])('an empty project %j is noted', (project) => {
    const { warnings, ...prd } = parse([STORY], { project });
    expect(warnings).toEqual(['project is empty: the run has no name of a project']);
    expect(prd).toMatchObject({ project: '', context: [] });
  });

  test('branchName is ignored with a warning', () => {
    expect(parse([STORY], { branchName: 'ralph/x' }).warnings).toEqual([
      'branchName is ignored: each run has its own branch',
    ]);
  });
});

describe('ids', () => {
  test('an id that looks like another one is refused', () => {
    expect(
      refusal([
        { ...STORY, id: 'a' },
        { ...STORY, id: '\u0430' },
      ]),
    ).toContain('looks like the id');
  });

  test('whole numbers become strings, and 1 and "1" are the same id', () => {
    expect(parse([{ ...STORY, id: 7 }]).stories[0]?.id).toBe('7');
    expect(
      refusal([
        { ...STORY, id: 1 },
        { ...STORY, id: '1' },
      ]),
    ).toContain('the id "1" is already used');
    const prd = parse([{ ...STORY, id: 1.5 }]);
    expect(prd.stories[0]?.id).toBe('1.5');
    expect(prd.warnings).toEqual(['1.5: the id is not an integer; write it in quotes']);
  });

  test('a story without an id is named by its position, with a warning', () => {
    const prd = parse([STORY, { ...STORY, id: null }]);
    expect(prd.stories[1]?.id).toBe('item-2');
    expect(prd.warnings).toEqual(['item-2: no id; the id was generated from the position']);
  });

  test('done stories with a duplicate id are renamed with a warning, and the open one keeps its id', () => {
    const prd = parse([{ ...STORY, passes: true }, STORY, { ...STORY, passes: true }]);
    expect(prd.stories.map(({ id }) => id)).toEqual(['US-001~2', 'US-001', 'US-001~3']);
    expect(prd.warnings).toEqual(['the id "US-001" occurs 3 times; done stories were renamed']);
  });

  test('a duplicate id that another story depends on is refused', () => {
    const stories = [{ ...STORY, passes: true }, STORY, { ...STORY, id: 'b', dependsOn: ['US-001'] }];
    expect(refusal(stories)).toContain('userStories[1].id: the id "US-001" is already used by userStories[0]');
  });
});

describe('texts', () => {
  test('the first line of the description replaces a missing title, with a warning', () => {
    const prd = parse([{ ...STORY, title: undefined, description: 'Add a cart.\nIt holds items.' }]);
    expect(prd.stories[0]).toMatchObject({ title: 'Add a cart.', description: 'Add a cart.\nIt holds items.' });
    expect(prd.warnings).toEqual(['US-001: no title; the first line of the description is used']);
  });

  test('a story without any text is refused', () => {
    expect(refusal([{ id: 'a', title: ' ', acceptanceCriteria: ['x'] }])).toBe(
      'prd.json:1: userStories[0].title: is missing, and so is the description',
    );
  });

  test('description and details are joined, notes may be a list', () => {
    const prd = parse([{ ...STORY, description: 'What', details: 'How', notes: ['one', 'two'] }]);
    expect(prd.stories[0]).toMatchObject({ description: 'What\n\nHow', notes: 'one\ntwo', extra: {} });
  });
});

describe('acceptance', () => {
  test('missing criteria are an empty list with one warning for all such stories', () => {
    const without = (id: string) => ({ id, title: 'x' });
    const prd = parse(['a', 'b', 'c', 'd'].map(without));
    expect(prd.stories[0]?.acceptance).toEqual([]);
    expect(prd.warnings).toEqual(['a, b, c and 1 more: no acceptance criteria']);
  });

  test('one string is split at its lines, without bullets', () => {
    const prd = parse([{ ...STORY, acceptanceCriteria: '- one\n* two\n\n3. three' }]);
    expect(prd.stories[0]?.acceptance).toEqual(['one', 'two', 'three']);
  });

  test('objects yield their text and stay in extra; their own flags do not affect the story', () => {
    const acceptanceCriteria = [{ text: 'one', passes: true }, 'two', { given: 'a', when: 'b', then: 'c' }];
    const prd = parse([{ ...STORY, acceptanceCriteria }]);
    expect(prd.stories[0]).toMatchObject({
      acceptance: ['one', 'two', 'Given a, When b, Then c'],
      status: 'pending',
      extra: { acceptanceCriteria },
    });
  });

  test('a criterion is trimmed, and subtasks in one text are not criteria', () => {
    expect(parse([{ ...STORY, acceptanceCriteria: [' one '] }]).stories[0]?.acceptance).toEqual(['one']);
    const subtasks = 'see the wiki';
    expect(parse([{ id: 'a', title: 'x', subtasks }]).stories[0]).toMatchObject({
      acceptance: [],
      extra: { subtasks },
    });
  });

  test('the first spelling is used and the others stay in extra', () => {
    const prd = parse([{ ...STORY, tests: 'run them' }]);
    expect(prd.stories[0]).toMatchObject({ acceptance: ['It holds items'], extra: { tests: 'run them' } });
  });
});

describe('priority', () => {
  test.each([
    [1, 1],
    [1.5, 1.5],
    ['2', 2],
    ['HIGH', 1],
    ['P0', 0],
    [null, undefined],
  ])('%j is read as %j', (priority, expected) => {
    const prd = parse([{ ...STORY, priority }]);
    expect(prd.stories[0]?.priority).toBe(expected);
    expect(prd.warnings).toEqual([]);
  });

  test('an unknown word is ignored with a warning; a list is refused', () => {
    expect(parse([{ ...STORY, priority: 'soon' }]).warnings).toEqual([
      'US-001: unknown priority "soon", so the story runs last',
    ]);
    expect(refusal([{ ...STORY, priority: [1] }])).toContain('priority: must be a number, not a list');
  });

  test('words and numbers in one file are accepted with a warning', () => {
    const prd = parse([
      { ...STORY, priority: 'low' },
      { ...STORY, id: 'b', priority: 1 },
    ]);
    expect(prd.stories.map(({ priority }) => priority)).toEqual([3, 1]);
    expect(prd.warnings).toEqual(['priorities mix words and numbers: critical is 0, high 1, medium 2, low 3']);
  });
});

describe('dependencies', () => {
  test.each(['dependsOn', 'dependencies', 'depends_on', 'deps', 'blockedBy', 'blocked_by', 'prerequisites'])(
    'may be called %s, a list or a text with commas, of strings and numbers',
    (key) => {
      const others = [
        { ...STORY, id: 1 },
        { ...STORY, id: '2' },
      ];
      expect(parse([...others, { ...STORY, [key]: ['1', 2] }]).stories[2]).toMatchObject({ dependsOn: ['1', '2'] });
      expect(parse([...others, { ...STORY, [key]: '1, 2' }]).stories[2]?.dependsOn).toEqual(['1', '2']);
      expect(parse([{ ...STORY, [key]: null }]).stories[0]?.dependsOn).toEqual([]);
    },
  );

  test('prose under `prerequisites` is text for the agent, with a note', () => {
    const prd = parse([{ ...STORY, prerequisites: 'A database runs on port 9999' }]);
    expect(prd.stories[0]).toMatchObject({
      dependsOn: [],
      extra: { prerequisites: 'A database runs on port 9999' },
    });
    expect(prd.warnings).toEqual([
      `${STORY.id}: needs "A database runs on port 9999", which is not a story; the agent gets it as text`,
    ]);
  });

  test('a dependency that is an object stays in extra', () => {
    const dependsOn = [{ id: 'b', why: 'It has the prices' }];
    const prd = parse([
      { ...STORY, dependsOn },
      { ...STORY, id: 'b' },
    ]);
    expect(prd.stories[0]).toMatchObject({ dependsOn: ['b'], extra: { dependsOn } });
  });

  test('dependencies of unusable types are refused', () => {
    expect(refusal([{ ...STORY, dependsOn: true }])).toContain('must be a list of story ids, not a boolean');
    expect(refusal([{ ...STORY, dependsOn: [{}] }])).toContain('dependsOn[0]: must be a story id, not an object');
  });

  test('dependencies on a story that will not run block direct and indirect dependents', () => {
    const prd = parse([
      { ...STORY, id: 'c', dependsOn: ['b'] },
      { ...STORY, id: 'b', dependsOn: ['a'] },
      { ...STORY, id: 'a', skip: true },
      { ...STORY, id: 'd', passes: true, dependsOn: ['a'] },
    ]);
    expect(prd.stories.map(({ status }) => status)).toEqual(['blocked', 'blocked', 'skipped', 'done']);
    expect(prd.warnings).toEqual([
      'b: depends on "a", which is skipped, so it is blocked too',
      'c: depends on "b", which is blocked, so it is blocked too',
    ]);
  });
});

describe('status', () => {
  test.each([
    [{ passes: true }, 'done'],
    [{ passes: false }, 'pending'],
    [{ passes: null }, 'pending'],
    [{}, 'pending'],
    [{ passes: false, inProgress: true }, 'in_progress'],
    [{ passes: true, inProgress: true }, 'done'],
    [{ passes: true, status: 'active' }, 'done'],
    [{ passes: true, status: 'COMPLETED' }, 'done'],
    [{ passes: false, status: 'in-progress' }, 'in_progress'],
    [{ status: '✅ Done' }, 'done'],
    [{ status: 'done', state: 'finished' }, 'done'],
    [{ status: 'not_started' }, 'pending'],
    [{ status: 'On hold' }, 'blocked'],
    [{ status: 'wontfix' }, 'skipped'],
    [{ passes: false, skip: true }, 'skipped'],
    [{ passes: true, skip: true }, 'done'],
  ])('%j is %s without a warning', (fields, status) => {
    const prd = parse([{ ...STORY, ...fields }]);
    expect(prd.stories[0]?.status).toBe(status);
    expect(prd.warnings).toEqual([]);
  });

  test.each([
    [{ passes: true, status: 'not_started' }, 'done', 'the flag is done but the status is not; treated as done'],
    [{ passes: false, status: 'done' }, 'pending', 'the status is done but the flag is not; treated as not done'],
    [{ passes: 'yes' }, 'done', 'passes is a string, treated as done'],
    [{ passes: 'nearly' }, 'pending', 'passes is a string, treated as not done'],
    [{ status: 'done', state: 'open' }, 'done', 'status is used, state is ignored'],
    [{ status: 'partial' }, 'pending', 'unknown status "partial", treated as pending'],
  ])('%j is %s with a warning', (fields, status, warning) => {
    const prd = parse([{ ...STORY, ...fields }]);
    expect(prd.stories[0]?.status).toBe(status);
    expect(prd.warnings).toEqual([`US-001: ${warning}`]);
  });

  test.each(['done', 'pending', 'in_progress', 'skipped', 'blocked'])(
    '%s is read back from what is written',
    (status) => {
      const written = DIALECTS.ralph.write(parse([{ ...STORY, status }]));
      expect(parsePrd(toBytes(written), 'prd.json').stories).toMatchObject([{ status }]);
    },
  );

  test('a status with additional text is kept for the agent', () => {
    const extraOf = (status: string) => parse([{ ...STORY, status }]).stories[0]?.extra;
    expect(extraOf('in progress')).not.toHaveProperty('status');
    expect(extraOf('in progress: tests are missing')).toMatchObject({ status: 'in progress: tests are missing' });
    expect(extraOf('Parser is there')).toMatchObject({ status: 'Parser is there' });
  });

  test('a flag that is a number is refused', () => {
    expect(refusal([{ ...STORY, passes: 1 }])).toContain('userStories[0].passes: must be true or false, not a number');
  });
});

function parse(userStories: Json[], more: Json = {}) {
  return parsePrd(new TextEncoder().encode(JSON.stringify({ ...more, userStories })), 'prd.json');
}

function refusal(userStories: Json[]): string {
  try {
    parse(userStories);
  } catch (error) {
    if (error instanceof HaloError) return error.message;
    throw error;
  }
  throw new Error('the PRD was accepted');
}
