import { describe, expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { markDone } from '../../../src/prd/mark-done.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { FULL_DIALECTS, toBytes, writeSamples } from '../../support/prd/prd-writers.ts';

/** The file after marking the story with this id (or at this place), as text. */
function mark(text: string, story: string | number, later = text): string {
  const { stories } = parsePrd(toBytes(text), 'prd');
  const landed = stories.filter(({ id }, index) => id === story || index === story);
  const before = stories.filter(({ status }) => status === 'done');
  const { bytes, gone } = markDone(toBytes(later), 'prd', { landed, before });
  if (bytes === undefined) return gone.length > 0 ? `gone: ${gone.join()}` : 'unchanged';
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** The lines that differ, as pairs. */
function changes(before: string, after: string): [string, string][] {
  const lines = after.split('\n');
  return before.split('\n').flatMap((line, index) => (line === lines[index] ? [] : [[line, lines[index] ?? '']]));
}

describe.each(FULL_DIALECTS)('in the %s dialect', (dialect) => {
  const ids = dialect === 'hank' ? ['#1', '#2', '#3'] : ['US-001', 'US-002', 'US-003'];
  const [a = '', b = '', c = ''] = ids;
  const text = writeSamples(dialect, [
    { id: a, done: true },
    { id: b, done: false },
    { id: c, done: false },
  ]);

  test('a story is marked in place: only its own lines differ, and the specification stays the same', () => {
    const after = mark(text, 1);
    const expected = writeSamples(dialect, [
      { id: a, done: true },
      { id: b, done: true },
      { id: c, done: false },
    ]);
    expect(after).toBe(expected);
    expect(parsePrd(toBytes(after), 'prd').specHash).toBe(parsePrd(toBytes(text), 'prd').specHash);
  });

  test('byte order mark and line ends stay the same', () => {
    const odd = `\uFEFF${text.replaceAll('\n', '\r\n')}`;
    expect(mark(odd, 1)).toBe(`\uFEFF${mark(text, 1).replaceAll('\n', '\r\n')}`);
  });

  test('a done story is unchanged, a missing one is reported', () => {
    expect(mark(text, 0)).toBe('unchanged');
    expect(mark(text, 1, writeSamples(dialect, [{ id: a }, { id: c, title: 'Other' }]))).toMatch(/^gone: /);
  });

  test('a story that has moved is found', () => {
    const moved = writeSamples(dialect, [
      { id: c, done: false },
      { id: a, done: true },
      { id: b, done: false },
    ]);
    const expected = writeSamples(dialect, [
      { id: c, done: false },
      { id: a, done: true },
      { id: b, done: true },
    ]);
    expect(mark(text, 1, moved)).toBe(expected);
  });
});

describe('the fields of a JSON story', () => {
  const write = (fields: string, rest = '') => `{"tasks": [\n  { "id": "a", "title": "x", ${fields} }${rest}\n]}\n`;

  test.each([
    ['"passes": false', '"passes": true'],
    ['"passes":null', '"passes":true'],
    ['"passed" : false , "owner": 1', '"passed" : true , "owner": 1'],
    ['"status": "todo"', '"status": "done"'],
    ['"passes": false, "status": "in_progress"', '"passes": true, "status": "done"'],
    ['"passes": false, "status": "active"', '"passes": true, "status": "active"'],
    ['"passes": false, "inProgress": true', '"passes": true, "inProgress": false'],
    ['"status": "active"', '"status": "active", "passes": true'],
    ['"status": null', '"status": "done"'],
    ['"done": "no"', '"done": "true"'],
    ['"state": "open"', '"state": "done"'],
    ['"Status": "To Do"', '"Status": "Done"'],
    ['"isDone": false', '"isDone": true'],
    ['"finished": false, "closed": "never"', '"finished": true, "closed": "never"'],
    ['"passes": false, "status": "completed"', '"passes": true, "status": "completed"'],
    ['"steps": ["1.0", "\\u003c"],  "n": 1.0', '"steps": ["1.0", "\\u003c"],  "n": 1.0,  "passes": true'],
  ])('%s becomes %s', (before, after) => {
    expect(mark(write(before), 'a')).toBe(write(after));
  });

  test('a word for progress is replaced, but not an amount', () => {
    const file = (member: string) => `{"stories": [{"id": "a", "title": "b", ${member}}]}`;
    expect(mark(file('"progress": "todo"'), 'a')).toBe(file('"progress": "done"'));
    expect(mark(file('"progress": "50%"'), 'a')).toBe(file('"progress": "50%", "passes": true'));
    expect(mark(file('"checked": false'), 'a')).toBe(file('"checked": true'));
  });

  test('the word for done is the most frequent one in the file', () => {
    const rest = ['DONE', 'Complete', 'DONE'].map((word) => `, { "title": "t", "status": "${word}" }`).join('');
    expect(mark(write('"status": "open"', rest), 'a')).toBe(write('"status": "DONE"', rest));
  });

  test.each([
    ['"status": "DONE"', '"status": "DONE"'],
    ['"state": "shipped"', '"state": "shipped"'],
    ['"Status": "TODO"', '"Status": "DONE"'],
    ['"isDone": true', '"isDone": true'],
    ['"passed": false', '"passed": true'],
  ])('a story without a progress field gets the field of the others: %s', (others, added) => {
    const rest = `, { "title": "t", ${others} }`;
    expect(mark(write('"n": 1', rest), 'a')).toBe(write(`"n": 1, ${added}`, rest));
  });

  test('a flag is added on its own line if members are on separate lines', () => {
    const text = '[\n\t{\n\t\t"id": 7,\n\t\t"title": "x"\n\t}\n]';
    expect(changes(text, mark(text, '7'))).toEqual([
      ['\t\t"title": "x"', '\t\t"title": "x",'],
      ['\t}', '\t\t"passes": true'],
      [']', '\t}'],
    ]);
  });

  test('a story without an id is identified by its texts, and of identical stories as many are marked as have landed', () => {
    const twin = '{"title": "x", "passes": false}';
    const done = '{"title": "x", "passes": true}';
    expect(mark(`[${twin}, ${twin}]`, 1)).toBe(`[${twin}, ${done}]`);
    expect(mark(`[${twin}, ${twin}]`, 1, `[{"title": "new"}, ${twin}, ${twin}]`)).toBe(
      `[{"title": "new"}, ${done}, ${twin}]`,
    );
    expect(mark(`[${twin}, ${twin}]`, 1, `[{"title": "new"}, ${done}, ${twin}]`)).toBe('unchanged');
    expect(mark(`[${done}, ${twin}]`, 1)).toBe(`[${done}, ${done}]`);
  });

  test('several stories are marked at the same time, and missing ones are named', () => {
    const file = (flags: boolean[]) =>
      JSON.stringify({ tasks: flags.map((passes, id) => ({ id, title: 'x', passes })) }, null, 1);
    const landed = parsePrd(toBytes(file([false, false, false, false])), 'prd').stories;
    const { bytes, gone } = markDone(toBytes(file([false, true, false])), 'prd', { landed, before: [] });
    expect(new TextDecoder().decode(bytes)).toBe(file([true, true, true]));
    expect(gone).toEqual(['3']);
  });

  test('only the stories that have begun are marked as started', () => {
    const file = (inProgress: boolean) =>
      JSON.stringify({ tasks: ['a', 'b'].map((id) => ({ id, title: id, inProgress: inProgress && id === 'a' })) });
    const { bytes } = markDone(toBytes(file(false)), 'prd', { landed: [], before: [], begun: ['a'] });
    expect(new TextDecoder().decode(bytes)).toBe(file(true));
  });

  test('an id identifies the story, also with changed texts', () => {
    expect(mark(write('"passes": false'), 'a', write('"passes": false').replace('"x"', '"other words"'))).toContain(
      '"passes": true',
    );
  });

  test('an unreadable file is refused, and a repeated flag is set everywhere', () => {
    expect(() => mark(write('"passes": false'), 'a', '{"tasks": [')).toThrow(HaloError);
    const repeated = write('"passes": false, "passes": false');
    expect(mark(repeated, 'a')).toBe(repeated.replaceAll('false', 'true'));
  });
});

describe('Markdown', () => {
  test.each([
    ['- [ ] Add a cart', '- [x] Add a cart'],
    ['  * [/] Add a cart', '  * [x] Add a cart'],
    ['1. [!] Add a cart <!-- note -->', '1. [x] Add a cart <!-- note -->'],
  ])('%s becomes %s', (before, after) => {
    const page = (line: string) => `# Plan\n\n${line}\n    - [ ] a part of it\n- [ ] Another\n`;
    expect(mark(page(before), 0)).toBe(page(after));
  });

  test('the tick is the one that the file uses', () => {
    expect(mark('- [X] a\n- [X] b\n- [x] c\n- [ ] d\n', 'd')).toBe('- [X] a\n- [X] b\n- [x] c\n- [X] d\n');
  });

  test('a story that was moved to another section is found', () => {
    expect(mark('## Now\n- [ ] one\n- [ ] two\n', 0, '## Later\n- [ ] two\n\n## Now\n- [ ] one\n')).toBe(
      '## Later\n- [ ] two\n\n## Now\n- [x] one\n',
    );
  });

  test('all criteria of a heading are ticked; a heading without criteria gets a sign', () => {
    const boxed =
      '### US-1: Cart\n\n**Acceptance Criteria:**\n- [x] a\n- [ ] b\n\n### US-2: Till\n\n**Acceptance Criteria:**\n- c\n';
    expect(changes(boxed, mark(boxed, 'US-1'))).toEqual([['- [ ] b', '- [x] b']]);
    expect(changes(boxed, mark(boxed, 'US-2'))).toEqual([['### US-2: Till', '### US-2: Till ✅']]);
  });
});

describe('the fields of a Markdown story', () => {
  const write = (...stories: string[]) => stories.map((text, index) => `### US-${index + 1}: a\n${text}\n`).join('');

  test.each([
    ['**Status:** Open\n**Acceptance:**\n- b', '**Status:** Done\n**Acceptance:**\n- b'],
    ['**Status:** todo\n**Acceptance:**\n- [ ] b', '**Status:** done\n**Acceptance:**\n- [x] b'],
    ['Status: In progress — since noon\n**Acceptance:** b', 'Status: Done — since noon\n**Acceptance:** b'],
    ['**Acceptance:**\n- [ ] b\n**Status:** 🚧 WIP', '**Acceptance:**\n- [x] b\n**Status:** DONE'],
  ])('%j becomes %j', (before, after) => {
    expect(mark(write(before), 'US-1')).toBe(write(after));
  });

  test.each([
    ['**Status:** Todo\n**Depends on:** US-2\n- [ ] b', '**Status:** Done\n**Depends on:** US-2\n- [x] b'],
    ['- [ ] b\n- [ ] c', '- [x] b\n- [x] c'],
    ['**Tasks:**\n- [x] b\n- [ ] c', '**Tasks:**\n- [x] b\n- [x] c'],
    ['**Status:** Todo\n\nWords.', '**Status:** Done\n\nWords.'],
  ])('a Markdown story without criteria changes from %j to %j', (before, after) => {
    const other = '**Status:** Done\n- [x] d';
    expect(mark(write(before, other), 'US-1')).toBe(write(after, other));
  });

  test.each([
    ['### [x] US-1: a\n- [x] b\n### [ ] US-2: c\n- [ ] d\n', '### [ ] US-2: c\n- [ ] d', '### [x] US-2: c\n- [x] d'],
    ['### US-1: a [DONE]\n- [ ] b\n### US-2: c\n- [ ] d\n', '### US-2: c\n- [ ] d', '### US-2: c [DONE]\n- [x] d'],
    ['### US-1: a ✅\n- [x] b\n### US-2: c\n- [ ] d\n', '### US-2: c\n- [ ] d', '### US-2: c ✅\n- [x] d'],
    ['### US-1: a ✅\n- [x] b\n### [ ] US-2: c\n- [ ] d\n', '### [ ] US-2: c\n- [ ] d', '### [x] US-2: c ✅\n- [x] d'],
  ])('headings are marked like others in the file: %j', (text, before, after) => {
    expect(mark(text, 'US-2')).toBe(text.replace(before, after));
  });

  test('the word for done is the most frequent one in the file', () => {
    const done = '**Status:** ✅ Shipped\n**Acceptance:** b';
    const open = done.replace('✅ Shipped', 'Planned');
    expect(mark(write(done, open), 'US-2')).toBe(write(done, done));
  });

  test.each([
    ['### US-1: a', '### US-1: a ✅'],
    ['### US-1: a ###', '### US-1: a ✅ ###'],
  ])('%j without boxes and words gets a sign', (before, after) => {
    expect(mark(`${before}\n**Acceptance:** b\n`, 'US-1')).toBe(`${after}\n**Acceptance:** b\n`);
  });
});

describe('marks where a story has code, tables and further boxes', () => {
  const task = (mark: string) => `- [${mark}] **Step 1**\n\n\`\`\`sh\nnpm test\n\`\`\`\n`;
  const story = (mark: string) => `**Acceptance Criteria:**\n- [${mark}] b\n\n| c | d |\n`;

  test.each([
    ['steps above code', `## Task 1: a\n\n${task(' ')}\n## Task 2: c\n\n${task(' ')}`, 'task-1', [3]],
    ['criteria above a table', `### US-1: a\n${story(' ')}### US-2: c\n${story(' ')}`, 'US-2', [8]],
    ['a number with a word', '- [x] **01-cart** — Cart\n- [ ] **02-pay** — Pay\n', '02-pay', [2]],
    ['an underlined heading', 'US-1 a\n------\n\n**Acceptance Criteria:**\n- [ ] b\n', 'US-1', [5]],
    ['an underlined heading without boxes', 'US-1 a\n------\n\n**Acceptance Criteria:**\n- b\n', 'US-1', [1]],
    ['a heading above a comment', '### US-1: a <!-- b -->\n**Acceptance Criteria:**\n- b\n', 'US-1', [1]],
    ['an item in an item', '- - [ ] a\n', 'a', [1]],
  ])('%s: only the lines of the mark differ', (_what, text, id, lines) => {
    for (const end of ['\n', '\r\n']) {
      const before = text.replaceAll('\n', end);
      const after = mark(before, id).split('\n');
      const changed = before.split('\n').flatMap((line, index) => (line === after[index] ? [] : [index + 1]));
      expect(changed).toEqual(lines);
      expect(parsePrd(toBytes(after.join('\n')), 'prd').stories.find((each) => each.id === id)?.status).toBe('done');
    }
  });
});
